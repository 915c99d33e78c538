import { randomUUID } from 'node:crypto'
import type { Agent } from '../domain/agent.ts'
import { TooltrailError } from '../domain/errors.ts'
import type { Session, SessionKey } from '../domain/session.ts'
import { isBlocked, isFree } from '../domain/session.ts'
import type { NewRun, RunInbox } from '../ports/run-inbox.ts'
import type { RunQueue } from '../ports/run-queue.ts'
import type { SessionDeletion } from '../ports/session-deletion.ts'
import { prepareAnswers } from './answers.ts'
import type { Backend, Placement } from './backend.ts'
import { continueDeletion } from './delete-session.ts'
import type { EventBus } from './event-bus.ts'
import { followRun } from './event-feed.ts'
import { storeInput } from './incoming.ts'
import type { LoopDependencies } from './loop-dependencies.ts'
import type { SessionWorker } from './session-worker.ts'

/** How long a caller waits for a deletion before it goes on in the background. */
const DELETION_MS = 5_000

export type BackendDependencies = LoopDependencies & {
  readonly inbox: RunInbox
  readonly queue: RunQueue
  readonly deletion: SessionDeletion
  readonly worker: SessionWorker
  readonly bus: EventBus
}

/** The backend over its ports and the worker of this process. */
export function createBackend(dependencies: BackendDependencies): Backend {
  const { inbox, lease, reader, outputs, queue, deletion, worker, clock, search } = dependencies

  async function enqueue(
    key: SessionKey,
    run: NewRun,
    placement: Placement,
  ): Promise<{ runId: string; repeated: boolean }> {
    const { runId, repeated, started } = await inbox.enqueue(
      key,
      placement.here ? { ...run, startAs: randomUUID() } : run,
    )
    if (started !== undefined) goOn(key, worker.serveStarted(key, started))
    else if (!repeated) await hint(key, placement)
    return { runId, repeated }
  }

  /** Wakes this process's worker, or whoever reads the queue. */
  async function hint(key: SessionKey, placement: Placement): Promise<void> {
    if (placement.here) goOn(key, worker.serve(key))
    else await queue.send(key)
  }

  /** Lets work go on after the caller has been answered. Its failures are the log's; a hint brings the next attempt. */
  function goOn(key: SessionKey, work: Promise<void>): void {
    work.catch((error: unknown) => {
      dependencies.logger.error('serving a session failed', error, { tenant: key.tenant, session: key.session })
    })
  }

  async function sessionAndAgent(key: SessionKey): Promise<{ session: Session; agent: Agent }> {
    const session = await dependencies.sessions.read(key)
    if (session === undefined) throw new TooltrailError('session_not_found', `there is no session ${key.session}`)
    const agent = dependencies.agents.get(session.agent)
    if (agent === undefined)
      throw new TooltrailError(
        'agent_not_found',
        `session ${key.session} uses agent ${session.agent}, which is not configured`,
      )
    return { session, agent }
  }

  return {
    async submit(key, submission, placement) {
      const { session, agent } = await sessionAndAgent(key)
      const { parts, user, metadata, onBusy, ...rest } = submission
      const input = {
        parts: await storeInput({ outputs, clock }, key, parts),
        ...(user === undefined ? {} : { user }),
        ...(metadata === undefined ? {} : { metadata }),
      }
      const run = {
        ...rest,
        agent: session.agent,
        trigger: 'input',
        onBusy: onBusy ?? agent.policies.onBusy,
        input,
      } as const
      return enqueue(key, run, placement)
    },

    async continue(key, options, placement) {
      const { session } = await sessionAndAgent(key)
      const header = await lease.look(key)
      if (header?.activeRun !== undefined && !isBlocked(header)) {
        await hint(key, placement)
        return { runId: header.activeRun, repeated: false }
      }
      const run = { ...options, agent: session.agent, trigger: 'continue', onBusy: 'reject', clientTools: [] } as const
      return enqueue(key, run, placement)
    },

    async answer(key, runId, answers, placement) {
      const { agent } = await sessionAndAgent(key)
      const prepared = await prepareAnswers({ reader, outputs, clock }, key, runId, answers, agent.policies)
      if ((await inbox.answer(key, runId, prepared)).complete) await hint(key, placement)
    },

    async cancel(key, runId) {
      const cancelled = await inbox.cancel(key, runId)
      if (cancelled.state !== 'cancelling' || !cancelled.free) return
      const header = await lease.look(key)
      if (header !== undefined && isFree(header, clock.now())) await worker.serve(key)
    },

    follow: (key, runId, options) => followRun(dependencies, key, runId, options),

    search: (query) => search(query),

    async deleteSession(key) {
      if (!(await deletion.tombstone(key)))
        throw new TooltrailError('session_not_found', `there is no session ${key.session}`)
      const state = await continueDeletion(dependencies, key, clock.now() + DELETION_MS)
      if (!state.removed)
        goOn(
          key,
          continueDeletion(dependencies, key, Infinity).then(() => undefined),
        )
      return state
    },
  }
}
