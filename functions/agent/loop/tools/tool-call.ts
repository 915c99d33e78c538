import type { Agent } from '../../../domain/agent.ts'
import { isOutage, isStorageFailure, LeaseLost } from '../../../domain/errors.ts'
import type { CallProgress } from '../../../domain/events.ts'
import type { HistoryScope } from '../../../domain/history.ts'
import type { Json } from '../../../domain/json.ts'
import type { ToolMessage } from '../../../domain/messages/message.ts'
import type { Session } from '../../../domain/session.ts'
import type { Logger } from '../../../ports/logger.ts'
import { MAX_TIMEOUT_FACTOR } from '../../../ports/tool.ts'
import type { Tool, ToolContext, ToolOutput } from '../../../ports/tool.ts'
import { readJson, withPlainNumbers } from '../../../log/json/exact-json.ts'
import { jsonFault } from '../../../log/json/json-size.ts'
import { readableOutput } from '../../readable-output.ts'
import { limitTime, raceAbort, withinTime } from '../../../domain/time/time-limit.ts'
import type { LoopReads } from '../writer/retrying-store.ts'
import type { LoopDependencies } from '../run-state.ts'

/**
 * Time in which a call must return its result after its run was stopped. It is short, so that a cancel takes effect within one
 * second.
 */
export const GRACE_MS = 400

export interface CallOutcome extends ToolOutput {
  readonly status: 'completed' | 'error'
}

/**
 * Executes one call.
 *
 * - Every failure becomes an outcome for the model: an unknown tool, invalid arguments, an error that the tool throws,
 *   or a timeout, even if the tool ignores its signal. The text of a storage failure is not passed on.
 * - Rejects only when the run itself must stop, with the reason of `context.signal`. A call in flight then has
 *   `GRACE_MS` to return a result, which is kept. If the lease was lost, the call is abandoned at once.
 */
export async function executeCall(
  tool: Tool | undefined,
  call: { readonly name: string; readonly arguments: string },
  context: ToolContext,
  logger: Logger,
): Promise<CallOutcome> {
  if (tool === undefined) return failure(`there is no tool named ${JSON.stringify(call.name)}`)
  const input = parseArguments(call.arguments)
  if (input === undefined) return failure(`the arguments are not valid JSON: ${call.arguments}`)
  const fault = tool.check?.(input)
  if (fault !== undefined) return failure(fault)
  const timedOut = `${call.name} did not finish within ${tool.timeoutMs / 1_000} s`
  const limit = limitTime(context.signal, tool.timeoutMs, () => new DOMException(timedOut, 'TimeoutError'))
  const { signal, end } = limit
  const last = context.now() + (MAX_TIMEOUT_FACTOR - 1) * tool.timeoutMs
  let isOver = false
  const progressed = (howFar?: CallProgress): void => {
    if (isOver || context.now() >= last) return
    limit.restart()
    context.progressed(howFar)
  }
  try {
    signal.throwIfAborted()
    const exact = tool.takesExactNumbers === true ? exactArguments(call.arguments) : undefined
    const running = tool.execute(exact ?? input, { ...context, signal, progressed })
    return outcomeOf(
      call.name,
      await raceAbort(running, signal).catch((error: unknown) => late(running, context, error)),
    )
  } catch (error) {
    context.signal.throwIfAborted()
    if (signal.aborted) return failure(timedOut)
    const { tenant, session } = context
    if (isOutage(error)) logger.error('a tool met an outage', error, { tenant, session, tool: call.name })
    if (isStorageFailure(error)) return failure('the storage did not respond: try again')
    return failure(error instanceof Error ? error.message : String(error))
  } finally {
    isOver = true
    end()
  }
}

const outcomeOf = (name: string, output: unknown): CallOutcome =>
  isToolOutput(output) ? { status: 'completed', ...output } : failure(`${name} gave no text`)

/** Waits for the late result of a call whose run must end. Does not wait if the lease was lost: no result can be stored then. */
async function late(running: Promise<unknown>, { signal }: ToolContext, error: unknown): Promise<unknown> {
  if (!signal.aborted || signal.reason instanceof LeaseLost) throw error
  return withinTime(GRACE_MS, 'the call', () => running)
}

/**
 * Parses the arguments; an empty text means no arguments. Returns undefined if the text is not JSON, is nested too deep or
 * has too many values: then no tool is executed.
 */
export const parseArguments = (raw: string): Json | undefined => withPlainNumbers(exactArguments(raw))

/** Parses the arguments and keeps their numbers exactly as they were sent. */
function exactArguments(raw: string): Json | undefined {
  if (raw.trim() === '') return {}
  if (jsonFault(raw) !== undefined) return undefined
  try {
    return readJson(raw) as Json
  } catch {
    return undefined
  }
}

/** Checked at run time, because tools may come from outside this repository. */
function isToolOutput(output: unknown): output is ToolOutput {
  if (typeof output !== 'object' || output === null || !('text' in output)) return false
  if (typeof output.text !== 'string' || ('mediaType' in output && !isTextOrNothing(output.mediaType))) return false
  if ('sources' in output && output.sources !== undefined && !Array.isArray(output.sources)) return false
  if ('data' in output && !isJsonOrNothing(output.data)) return false
  return (
    !('media' in output) || output.media === undefined || (Array.isArray(output.media) && output.media.every(isMedia))
  )
}

/** Whether the value can be stored as JSON in a row. */
function isJsonOrNothing(value: unknown): boolean {
  try {
    return value === undefined || (JSON.stringify(value) as string | undefined) !== undefined
  } catch {
    return false
  }
}

const isTextOrNothing = (value: unknown): boolean => value === undefined || typeof value === 'string'

const isMedia = (value: { readonly mediaType?: unknown; readonly data?: unknown } | null | undefined): boolean =>
  typeof value?.mediaType === 'string' && value.data instanceof Uint8Array

function failure(reason: string): CallOutcome {
  return { status: 'error', text: `error: ${reason}` }
}

/**
 * The scope that an agent may search. The policy and the session decide it, never the model's arguments (promises H4).
 */
async function searchScope(
  { sessions }: Pick<LoopReads, 'sessions'>,
  { policies }: Agent,
  { tenant, session, owner }: Session,
): Promise<HistoryScope> {
  // The session is read at each search. Since the run started, it may have received an input from a caller that may see only one
  // owner's sessions.
  const now = policies.searchScope === 'tenant' ? await sessions.read({ tenant, session }) : undefined
  if (now !== undefined && now.ownerBound !== true) return { tenant }
  if (policies.searchScope !== 'session' && owner !== undefined) return { tenant, owner }
  return { tenant, session }
}

/** Builds the context that a tool gets besides its input. */
export function createToolContext(
  dependencies: LoopReads & Pick<LoopDependencies, 'index' | 'search' | 'clock'>,
  at: {
    readonly session: Session
    readonly agent: Agent
    readonly row: ToolMessage
    readonly signal: AbortSignal
    readonly progressed: ToolContext['progressed']
  },
): ToolContext {
  const { search, clock } = dependencies
  const { session, agent, row } = at
  return {
    tenant: session.tenant,
    session: session.session,
    runId: row.runId,
    agent: row.agent,
    toolCallId: row.toolCallId,
    signal: at.signal,
    now: () => clock.now(),
    progressed: at.progressed,
    async searchHistory(text, filters, limit, listing) {
      const scope = await searchScope(dependencies, agent, session)
      const found = await search({ scope, text, filters: { ...filters, notRun: row.runId }, limit, ...listing })
      const lacksOwner = agent.policies.searchScope === 'owner' && session.owner === undefined
      return lacksOwner ? { ...found, lacksOwner } : found
    },
    async readOutput(pointer) {
      const scope = () => searchScope(dependencies, agent, session)
      const found = await readableOutput(dependencies, pointer, { tenant: session.tenant, own: session, scope })
      return found && { pieces: found.pieces, toolName: found.message.toolName, session: found.session }
    },
  }
}
