import { definedFields } from '../../domain/defined-fields.ts'
import type { Policies } from '../../domain/agent.ts'
import { TooltrailError } from '../../domain/errors.ts'
import { decidedSettings } from '../../domain/runs/decided-settings.ts'
import { withoutChoice } from '../../domain/runs/request-settings.ts'
import type { NewestRequest } from '../../domain/runs/run-changes.ts'
import { isBlocked, keyOf, type Session, type SessionKey } from '../../domain/session.ts'
import type { LogImport } from '../../ports/log-import.ts'
import type { NewRun, RunInbox } from '../../ports/run-inbox.ts'
import type { RunQueue } from '../../ports/run-queue.ts'
import type { DeletionState, SessionDeletion } from '../../ports/session-deletion.ts'
import { acceptRun, agentOf, runInBackground, hint, wake } from './accept-run.ts'
import type { AgentService, ContinuingRequest } from './agent-service.ts'
import { continueDeletion } from '../worker/delete-session.ts'
import { inTime } from '../../ports/time-limited.ts'
import type { EventBus } from '../events/event-bus.ts'
import type { eventsSoFar, followRun } from '../events/follow-run.ts'
import type { untilSettled } from '../events/until-settled.ts'
import { keepingMedia, storeInput } from './incoming.ts'
import type { LoopDependencies } from '../loop/run-state.ts'
import type { SessionWorker } from '../worker/session-worker.ts'

/** Maximum time that a caller waits for a deletion. After that, the deletion continues in the background. */
const DELETION_MS = 5_000
/**
 * Maximum time that a caller waits for the cancel of a run that no process executes. Such a cancel takes a few writes.
 */
const CANCEL_MS = 1_000

export type AgentServiceDependencies = LoopDependencies & {
  readonly inbox: RunInbox
  readonly queue: RunQueue
  readonly deletion: SessionDeletion
  readonly imports: LogImport
  readonly worker: SessionWorker
  readonly bus: EventBus
}

/** Creates the agent service from its ports and this process's worker. */
export function createAgentService(ports: AgentServiceDependencies): AgentService {
  const dependencies = inTime(ports)
  const { inbox, clock, deletion, worker } = dependencies
  return {
    ...acceptors(dependencies),
    assertCapacity: (tenant, limits) => inbox.assertCapacity(tenant, limits),
    findClaim: (key, keyHash) => inbox.findClaim(key, keyHash),
    async cancel(key, runId) {
      const cancelled = await inbox.cancel(key, runId)
      if (cancelled.state !== 'cancelling' || !cancelled.free) return
      // The worker then executes the runs queued behind the cancelled one; the caller does not wait for these runs.
      runInBackground(dependencies, key, worker.serve(key))
      const signal = AbortSignal.timeout(CANCEL_MS)
      await settled(dependencies, key, runId, signal)
    },
    follow: (key, runId, options) => follow(dependencies, key, runId, options),
    soFar: (key, runId) => soFar(dependencies, key, runId),
    settled: (key, runId, signal) => settled(dependencies, key, runId, signal),
    context: async (session, run, as) => (await contextWork()).nextRequest(dependencies, session, run, as),
    consolidate: async (session, options) => (await contextWork()).consolidateByHand(dependencies, session, options),
    importMessages: async (session, messages, options) => {
      const { appendClosed } = await import('../imports/append-closed.ts')
      return appendClosed(dependencies, session, messages, options)
    },
    copyLog: async (from, through, to) => {
      const { copyLog } = await import('../imports/copy-log.ts')
      return copyLog(dependencies, from, through, to)
    },
    async toolsOf(name) {
      const { mcp: _, ...agent } = dependencies.agents.get(name) ?? {}
      return 'name' in agent ? dependencies.tools.open(agent) : new Map()
    },
    search: (query) => dependencies.search(query),
    async deleteSession(key) {
      if (!(await deletion.tombstone(key)))
        throw new TooltrailError('session_not_found', `there is no session ${key.session}`)
      const state = await continueDeletion(dependencies, key, clock.now() + DELETION_MS)
      if (!state.removed) await hint(dependencies, key)
      return withDocuments(dependencies, key, state)
    },
    async deletionState(key, owner) {
      const state = await deletion.state(key, owner)
      return state === undefined ? undefined : withDocuments(dependencies, key, state)
    },
  }
}

/** The module is imported when the first run is followed, so that the API starts quickly. */
async function* follow(...given: Parameters<typeof followRun>): ReturnType<typeof followRun> {
  const following = await import('../events/follow-run.ts')
  yield* following.followRun(...given)
}

async function* soFar(...given: Parameters<typeof eventsSoFar>): ReturnType<typeof eventsSoFar> {
  const following = await import('../events/follow-run.ts')
  yield* following.eventsSoFar(...given)
}

async function settled(...given: Parameters<typeof untilSettled>): Promise<void> {
  const ends = await import('../events/until-settled.ts')
  await ends.untilSettled(...given)
}

/** The state of a deletion. The deletion counts as unfinished while the search finds documents or fails. */
async function withDocuments(
  { index }: Pick<AgentServiceDependencies, 'index'>,
  key: SessionKey,
  state: DeletionState,
): Promise<DeletionState> {
  if (!state.removed) return state
  try {
    const { hits } = await index.search({ scope: key, text: '', filters: {}, limit: 1 })
    return { ...state, removed: hits.length === 0 }
  } catch (error) {
    if (error instanceof TooltrailError && error.code === 'search_unavailable') return { ...state, removed: false }
    throw error
  }
}

/** The operations that start runs or make runs continue. */
function acceptors(dependencies: AgentServiceDependencies): Pick<AgentService, 'submit' | 'continue' | 'resolve'> {
  const { inbox, lease, reader } = dependencies
  return {
    async submit(session, { parts, ...submission }, placement) {
      const agent = agentOf(dependencies, session)
      if (submission.replaces !== undefined) {
        const { submitReplacement } = await import('./replacements.ts')
        return submitReplacement(dependencies, session, { ...submission, parts }, placement)
      }
      const { user = session.user, metadata, onBusy = agent.policies.onBusy, settings, ...rest } = submission
      const stored = await storeInput(dependencies, session, parts ?? [])
      const input = { parts: stored, ...definedFields({ user, metadata }) }
      const decided = definedFields({ settings: decidedSettings(agent.policies, settings ?? {}) })
      const run: NewRun = { ...rest, ...decided, agent: session.agent, trigger: 'input', onBusy, input }
      return keepingMedia(dependencies, session, stored, () => acceptRun(dependencies, session, run, placement))
    },
    async continue(session, options, placement) {
      agentOf(dependencies, session)
      const key = keyOf(session)
      const header = await lease.readHeader(key)
      const active = header !== undefined && isBlocked(header) ? undefined : header?.activeRun
      const [queued] = header?.activeRun === undefined ? await reader.queued(key, 1) : []
      const joined = active ?? queued?.id
      if (joined !== undefined) {
        const { idempotency } = options
        const given =
          idempotency === undefined ? { runId: joined, repeated: false } : await inbox.join(key, joined, idempotency)
        await wake(dependencies, key, placement)
        return given
      }
      const failed = session.run === undefined ? undefined : await reader.run(key, session.run.id)
      const settings = definedFields({ settings: withoutChoice(failed?.settings) })
      const fixed = { trigger: 'continue', onBusy: 'reject', clientTools: [] } as const
      const run: NewRun = { ...options, ...fixed, ...settings, agent: session.agent }
      return acceptRun(dependencies, session, run, placement)
    },
    async resolve(session, runId, resolutions, placement, request) {
      const agent = agentOf(dependencies, session)
      const key = keyOf(session)
      const { prepareResolutions } = await import('./resolutions.ts')
      const policiesOf = (name: string): Policies => (dependencies.agents.get(name) ?? agent).policies
      const prepared = await prepareResolutions(dependencies, key, runId, resolutions, policiesOf)
      const newest = request && (await decidedRequest(dependencies, session, runId, request))
      if ((await inbox.resolve(key, runId, prepared, newest)).complete) await wake(dependencies, key, placement)
    },
  }
}

/** Returns the request with the settings that the policies of the run's agent allow. */
async function decidedRequest(
  dependencies: AgentServiceDependencies,
  session: Session,
  runId: string,
  { settings, ...request }: ContinuingRequest,
): Promise<NewestRequest> {
  if (settings === undefined) return request
  const run = await dependencies.reader.run(session, runId)
  const { policies } = agentOf(dependencies, { ...session, agent: run?.agent ?? session.agent })
  return { ...request, settings: decidedSettings(policies, settings) ?? null }
}

/** Imported on demand, because few requests need it. */
const contextWork = () => import('./session-context.ts')
