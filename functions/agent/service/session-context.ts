import { DEFAULT_CONSOLIDATION } from '../../domain/agent.ts'
import type { Agent } from '../../domain/agent.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import type { Summary } from '../../domain/context.ts'
import { TooltrailError } from '../../domain/errors.ts'
import { OPEN_STATUSES } from '../../domain/messages/message.ts'
import type { Message, Part, UserMessage } from '../../domain/messages/message.ts'
import { decidedSettings, withRunOptions } from '../../domain/runs/decided-settings.ts'
import type { RunSettings } from '../../domain/runs/request-settings.ts'
import type { ClientTool } from '../../domain/runs/run.ts'
import { keyOf } from '../../domain/session.ts'
import type { Session, SessionHeader, SessionKey } from '../../domain/session.ts'
import { isSoonDue } from '../../log/request/consolidation.ts'
import { contextTokensOf } from '../../log/request/context-sizes.ts'
import { MAX_NUMBERED_RESULTS } from '../../domain/messages/source.ts'
import { hasSources, highestOf, numberSources, recordedNumbers } from '../../log/sources.ts'
import type { SourceNumbers } from '../../log/sources.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import type { RunInbox } from '../../ports/run-inbox.ts'
import { currentLog } from '../current-log.ts'
import { countConversation, countOlder, loadContext, sizeRequest } from '../loop/context/context.ts'
import type { LoadedContext } from '../loop/context/context.ts'
import { declaredTools, instructed } from '../loop/model/model-request.ts'
import type { LoopDependencies } from '../loop/run-state.ts'
import { withDelegation } from '../loop/open-thread.ts'
import { afterSummary, summarise, SummaryFailed } from '../loop/context/summarise.ts'
import { countSummaries } from '../loop/model/unstored-usage.ts'
import { limitTime } from '../../domain/time/time-limit.ts'
import { agentOf } from './accept-run.ts'
import type { NextRequest, RequestedAs, Submission } from './agent-service.ts'

/** Id of the run that the next input would start. */
const NEXT_RUN = 'next'
/** Greater than every id. */
const NEXT_ID = 'Z'.repeat(26)
/** Timeout of a summary that a caller requested. */
const SUMMARY_MS = 600_000

/**
 * Builds the next request of the session's active run. If no run is active, builds the request of the run that the next
 * input would start, without that input. Waiting calls get a placeholder text as their result. Stores nothing. Rejects
 * with `agent_not_found`; if a run is given, also with `run_not_found` and `run_not_active`.
 */
export async function nextRequest(
  dependencies: LoopDependencies,
  session: Session,
  wanted: string | undefined,
  as?: RequestedAs,
): Promise<NextRequest> {
  const { lease, tools } = dependencies
  const reader = currentLog(dependencies.reader)
  const key = keyOf(session)
  const header = await lease.readHeader(key)
  const spoken = await speaker(dependencies, { ...session, ...definedFields({ agent: as?.agent }) }, header, wanted)
  const asked = definedFields({ clientTools: as?.clientTools, instructions: as?.instructions })
  const { agent, clientTools, run, instructions, settings } = { ...spoken, ...asked }
  const loaded = await loadContext(reader, key, run ?? NEXT_RUN, agent)
  const messages = loaded.messages.map(withoutResult)
  if (run === undefined) messages.push(nextInput(agent))
  const context = { ...loaded, messages }
  const looks = run === undefined ? undefined : ({ ...key, runId: run, as: 'looks', absent: () => undefined } as const)
  const opened = await tools.open(agent, looks)
  const sized = await sizeRequest({
    session: instructed(definedFields({ instructions }), session),
    thread: { runId: run ?? NEXT_RUN, agent, messages },
    tools: declaredTools(await withDelegation(opened, agent, dependencies.agents), clientTools),
    toolChoice: 'auto',
    ...definedFields({ format: settings?.format }),
    context,
    numbers: await nextNumbers(reader, key, messages),
    head: header?.head ?? '',
    isAnnounced: run === undefined && (await isAnnounced(reader, key, loaded, agent)),
    older: () => countOlder(reader, key, loaded),
  })
  const { request, tokens, decision = loaded.decided } = sized
  return {
    agent,
    request: run === undefined ? { ...request, messages: request.messages.slice(0, -1) } : request,
    estimatedTokens: tokens,
    contextTokens: contextTokensOf(agent, decision.limits),
    ...definedFields({ summary: decision.summary }),
    mediaOf: new Map(loaded.messages.flatMap(({ id, parts }) => mediaIds(parts).map((media) => [media, id]))),
    omitted: decision.cut === undefined ? 0 : decision.cut.messages - decision.cut.kept.length,
  }
}

/** Whether the next run begins with the notice that a summary is near. */
async function isAnnounced(reader: LogReader, key: SessionKey, loaded: LoadedContext, agent: Agent): Promise<boolean> {
  const { consolidation } = agent.policies
  return consolidation !== false && isSoonDue(consolidation, await countConversation(reader, key, loaded, NEXT_RUN))
}

const mediaIds = (parts: readonly Part[]): string[] =>
  parts.flatMap((part) => (part.type === 'image' || part.type === 'file' ? [part.id] : []))

interface Speaker {
  readonly agent: Agent
  readonly clientTools: readonly ClientTool[]
  readonly run?: string
  readonly instructions?: string
  readonly settings?: RunSettings
}

/** The agent of the next request, and the active run if there is one. */
async function speaker(
  dependencies: LoopDependencies,
  session: Session,
  header: SessionHeader | undefined,
  wanted: string | undefined,
): Promise<Speaker> {
  const key = keyOf(session)
  const id = wanted ?? header?.activeRun
  const run = id === undefined ? undefined : await dependencies.reader.run(key, id)
  if (wanted !== undefined && run === undefined)
    throw new TooltrailError('run_not_found', `session ${session.session} has no run ${wanted}`)
  if (wanted !== undefined && wanted !== header?.activeRun)
    throw new TooltrailError('run_not_active', `run ${wanted} is not active: it has no next request`)
  if (run === undefined) {
    const agent = agentOf(dependencies, session)
    return { agent, clientTools: [], ...definedFields({ settings: decidedSettings(agent.policies, {}) }) }
  }
  const { instructions, settings, clientTools } = run
  const agent = withRunOptions(agentOf(dependencies, { ...session, agent: run.agent }), settings)
  return { agent, clientTools, run: run.id, ...definedFields({ instructions, settings }) }
}

/** The numbers that the next request would assign to sources. */
async function nextNumbers(reader: LogReader, key: SessionKey, messages: readonly Message[]): Promise<SourceNumbers> {
  const known = recordedNumbers(messages)
  if (!messages.some((message) => hasSources(message) && !known.has(message.id))) return new Map()
  const { numbered } = await reader.sources(key, { order: 'descending', limit: 1 })
  const next = numberSources(messages, known, highestOf(numbered), MAX_NUMBERED_RESULTS)
  return new Map(next.map(({ message, from }) => [message, from]))
}

/** Replaces the missing result of an open call with a placeholder text. */
function withoutResult(message: Message): Message {
  if (message.role !== 'tool' || !OPEN_STATUSES.includes(message.status)) return message
  const text = message.status === 'waiting' ? '[waiting for an answer]' : '[running]'
  return { ...message, status: 'completed', parts: [{ type: 'text', text }] }
}

const nextInput = ({ name }: Agent): UserMessage => ({
  id: NEXT_ID,
  runId: NEXT_RUN,
  agent: name,
  role: 'user',
  round: 0,
  createdAt: 0,
  parts: [],
})

/**
 * Summarises the older part of an idle session, even if the session is below the threshold for summaries. The newest
 * messages stay. Rejects with `session_busy`, `nothing_to_consolidate`, `summary_failed` (then only the usage has
 * changed) and `idempotency_conflict`. Like a new run, a summary is rejected when the day's tokens or budget are used
 * up.
 */
export async function consolidateByHand(
  dependencies: LoopDependencies & { readonly inbox: Pick<RunInbox, 'assertCapacity'> },
  session: Session,
  { idempotency, keyId, budget, signal, limitMs = SUMMARY_MS }: ByHand,
): Promise<Summary> {
  const { inbox, lease, sessions, logger } = dependencies
  const reader = currentLog(dependencies.reader)
  const key = keyOf(session)
  const agent = agentOf(dependencies, session)
  const known = idempotency && (await sessions.summaryUnder(key, idempotency))
  if (known !== undefined) return known
  await inbox.assertCapacity(key.tenant, definedFields({ keyId, budget }))
  const seen = await lease.readHeader(key)
  if (seen === undefined || seen.activeRun !== undefined || seen.queued > 0) throw busy(key)
  const loaded = await loadContext(reader, key, NEXT_RUN, agent)
  const { summary: former } = loaded.decided
  const policy = agent.policies.consolidation === false ? DEFAULT_CONSOLIDATION : agent.policies.consolidation
  const keeper = { startWatchdog: () => () => undefined, check: () => undefined }
  const late = (): Error => new Error(`it took longer than ${limitMs / 1_000} s`)
  const limit = limitTime(signal ?? new AbortController().signal, limitMs, late)
  const { limits } = loaded.decided
  const work = { agent, policy, former, before: undefined, limits, signal: limit.signal }
  const from = former === undefined ? {} : { from: former.through }
  const account = definedFields({ owner: session.owner, keyId })
  const count = countSummaries(dependencies, key, account)
  try {
    const made = await summarise({ ...dependencies, reader, keeper, count }, key, work)
    if (made === undefined)
      throw new TooltrailError('nothing_to_consolidate', `session ${key.session} has nothing older to summarise`)
    const { summary } = made
    const at = { head: seen.head ?? '', before: undefined, run: NEXT_RUN, replay: agent.policies.replay }
    const claim = idempotency === undefined ? {} : { idempotency }
    const context = afterSummary(loaded, made, at)
    if (await sessions.recordSummary(seen, { work: summary, account, context, ...from, ...claim })) return summary
    const other = idempotency && (await sessions.summaryUnder(key, idempotency))
    if (other === undefined) throw busy(key)
    return other
  } catch (error) {
    if (!(error instanceof SummaryFailed) && !limit.signal.aborted) throw error
    const reason = error instanceof Error ? error.message : String(error)
    logger.warn('a summary by hand failed', { ...key, error: reason })
    const spent = error instanceof SummaryFailed ? error.work : undefined
    if (spent !== undefined) await sessions.recordSummary(seen, { work: spent, account, ...from })
    const text = `the older messages could not be summarised and stay unchanged: ${reason}`
    throw new TooltrailError('summary_failed', text, { retryable: true, cause: error })
  } finally {
    limit.end()
  }
}

/** `signal` aborts when the caller no longer waits for the summary. `limitMs` is the summary's timeout. */
interface ByHand extends Pick<Submission, 'idempotency' | 'keyId' | 'budget'> {
  readonly signal?: AbortSignal
  readonly limitMs?: number
}

const busy = ({ session }: SessionKey): TooltrailError =>
  new TooltrailError('session_busy', `session ${session} has a run that has not ended`, { retryable: true })
