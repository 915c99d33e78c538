import { TooltrailError } from '../../domain/errors.ts'
import { isBlocked, keyOf } from '../../domain/session.ts'
import type { NewRun, RunInbox } from '../../ports/run-inbox.ts'
import type { RunQueue } from '../../ports/run-queue.ts'
import type { SessionDeletion } from '../../ports/session-deletion.ts'
import { acceptRun, agentOf, goOn, hint, wake } from './accept-run.ts'
import { prepareResolutions } from './resolutions.ts'
import type { AgentService } from './agent-service.ts'
import { continueDeletion } from '../serving/delete-session.ts'
import type { EventBus } from '../following/event-bus.ts'
import { followRun } from '../following/event-feed.ts'
import { storeInput } from './incoming.ts'
import type { LoopDependencies } from '../loop/loop-dependencies.ts'
import type { SessionWorker } from '../serving/session-worker.ts'

/** How long a caller waits for a deletion before it goes on in the background, in milliseconds. */
const DELETION_MS = 5_000
/** How long a caller waits for a run that nobody executes to be cancelled: it takes a few writes. */
const CANCEL_MS = 1_000

export type AgentServiceDependencies = LoopDependencies & {
  readonly inbox: RunInbox
  readonly queue: RunQueue
  readonly deletion: SessionDeletion
  readonly worker: SessionWorker
  readonly bus: EventBus
}

/** The agent service over its ports and the worker of this process. */
export function createAgentService(dependencies: AgentServiceDependencies): AgentService {
  const { inbox, clock, deletion, worker } = dependencies
  return {
    ...acceptors(dependencies),
    async cancel(key, runId) {
      const cancelled = await inbox.cancel(key, runId)
      if (cancelled.state !== 'cancelling' || !cancelled.free) return
      // What is queued behind the cancelled run is executed then: that is not to be waited for.
      goOn(dependencies, key, worker.serve(key))
      const signal = AbortSignal.timeout(CANCEL_MS)
      for await (const event of followRun(dependencies, key, runId, { signal })) void event
    },
    follow: (key, runId, options) => followRun(dependencies, key, runId, options),
    search: (query) => dependencies.search(query),
    async deleteSession(key) {
      if (!(await deletion.tombstone(key)))
        throw new TooltrailError('session_not_found', `there is no session ${key.session}`)
      const state = await continueDeletion(dependencies, key, clock.now() + DELETION_MS)
      if (!state.removed) await hint(dependencies, key)
      return state
    },
  }
}

/** What makes runs start or go on. */
function acceptors(dependencies: AgentServiceDependencies): Pick<AgentService, 'submit' | 'continue' | 'resolve'> {
  const { inbox, lease, reader } = dependencies
  return {
    async submit(session, submission, placement) {
      const agent = agentOf(dependencies, session)
      const { parts, user, metadata, onBusy = agent.policies.onBusy, ...rest } = submission
      const input = {
        parts: await storeInput(dependencies, session, parts),
        ...(user === undefined ? {} : { user }),
        ...(metadata === undefined ? {} : { metadata }),
      }
      const run: NewRun = { ...rest, agent: session.agent, trigger: 'input', onBusy, input }
      return acceptRun(dependencies, session, run, placement)
    },
    async continue(session, options, placement) {
      agentOf(dependencies, session)
      const key = keyOf(session)
      const header = await lease.look(key)
      if (header?.activeRun !== undefined && !isBlocked(header)) {
        await wake(dependencies, key, placement)
        return { runId: header.activeRun, repeated: false }
      }
      const [queued] = header?.activeRun === undefined ? await reader.queued(key) : []
      if (queued !== undefined) {
        await wake(dependencies, key, placement)
        return { runId: queued.id, repeated: false }
      }
      const run: NewRun = { ...options, agent: session.agent, trigger: 'continue', onBusy: 'reject', clientTools: [] }
      return acceptRun(dependencies, session, run, placement)
    },
    async resolve(session, runId, resolutions, placement) {
      const { policies } = agentOf(dependencies, session)
      const key = keyOf(session)
      const prepared = await prepareResolutions(dependencies, key, runId, resolutions, policies)
      if ((await inbox.resolve(key, runId, prepared)).complete) await wake(dependencies, key, placement)
    },
  }
}
