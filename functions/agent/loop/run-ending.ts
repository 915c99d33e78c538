import { definedFields } from '../../domain/defined-fields.ts'
import { isStorageFailure, LeaseLost, TooltrailError } from '../../domain/errors.ts'
import { isLeaders } from '../../domain/messages/message.ts'
import type { AssistantPart, Message, ToolMessage } from '../../domain/messages/message.ts'
import type { RunError } from '../../domain/runs/run.ts'
import { isDelegation } from '../../domain/runs/team.ts'
import { isRepairable, ModelError } from '../../ports/model.ts'
import type { RunEnd } from '../../domain/runs/run-changes.ts'
import { CompletionFailed, keptParts } from './model/completion-failed.ts'
import { RunCancelled } from './writer/lease-keeper.ts'
import { resolvedCalls } from './resolved-calls.ts'
import { assistantMessage } from './run-state.ts'
import type { EndedPhase, HeldPhases, ReleasedPhase } from './run-state.ts'
import { openCalls, ownMessages, remember, threadsOf } from './thread.ts'

/** Maximum number of takeovers without a new message. After that, the run fails. */
const MAX_TAKEOVERS = 3

/**
 * Ends the run: stores the final message, run state and lease in one write, then emits the events. If a cancel was
 * stored first, the run ends `cancelled` and keeps the produced content. Rejects with `LeaseLost` when another process
 * holds the session now.
 */
export async function endRun(state: HeldPhases, end: RunEnd): Promise<EndedPhase> {
  const { writer, account } = state
  const open = [...threadsOf(state.leader)].flatMap(openCalls)
  const notices = state.phase === 'opening' ? state.held.run.notices : state.context.notices
  const unemitted = [...open, ...resolvedCalls(state.leader, notices ?? [])]
  const ended = (await writer.endRun(end, unemitted, account)) ?? (await endCancelled())
  if (ended === undefined) throw new LeaseLost(writer.key.session, writer.generation)
  const { calls, run } = ended
  return { phase: 'ended', run, messages: messagesAtEnd(state, end, calls) }

  async function endCancelled(): ReturnType<typeof writer.endRun> {
    const reason = await cancelReason(state)
    const stopReason = reason === 'superseded' ? 'superseded' : 'cancelled'
    return writer.endRun(
      { outcome: 'cancelled', stopReason, ...definedFields({ message: end.message }) },
      unemitted,
      account,
    )
  }
}

/**
 * All messages of the ended run. Undefined if members worked for the run, because their messages are not loaded. Also
 * undefined if a client has resolved a call whose result was not read.
 */
function messagesAtEnd(
  { leader }: HeldPhases,
  { message }: RunEnd,
  calls: readonly ToolMessage[],
): readonly Message[] | undefined {
  const all = message === undefined ? calls : [...calls, message]
  remember(leader, all.filter(isLeaders))
  const own = ownMessages(leader)
  const isAlone = !own.some((one) => one.role === 'tool' && isDelegation(one))
  return isAlone && openCalls(leader).length === 0 ? own : undefined
}

/** Reads the cancel that prevented a write. Rejects with `LeaseLost` if the lease was lost instead. */
async function cancelReason({ writer }: HeldPhases): Promise<RunCancelled['reason']> {
  try {
    await writer.readHeader()
  } catch (error) {
    if (error instanceof RunCancelled) return error.reason
    throw error
  }
  throw new LeaseLost(writer.key.session, writer.generation)
}

/** Returns how the run ends after `error` stopped its loop. The content produced before the error is kept. */
function endAfter(error: unknown, state: HeldPhases): RunEnd {
  const { leader } = state
  const model = leader.agent.model === '' ? {} : { model: leader.agent.model }
  const streamed = error instanceof CompletionFailed ? keptParts(error.streamed) : []
  const cause = error instanceof CompletionFailed ? error.cause : error
  if (cause instanceof RunCancelled) {
    const stopReason = cause.reason === 'superseded' ? 'superseded' : 'cancelled'
    if (streamed.length === 0) return { outcome: 'cancelled', stopReason }
    const content = { parts: streamed, ...model, finishReason: 'cancelled' }
    return { outcome: 'cancelled', stopReason, message: assistantMessage(state, leader, content) }
  }
  const content = { parts: streamed, ...model }
  const end = failure(state, describe(state, cause), content)
  // The store may have rejected a completion with these source numbers, so the final message does not record them.
  return cause instanceof ModelError ? end : withoutNumbers(end)
}

/** Drops the source numbers from the last message of a run. */
function withoutNumbers({ message, ...end }: RunEnd): RunEnd {
  if (message === undefined) return end
  const { numbered: _, ...unnumbered } = message
  return { ...end, message: unnumbered }
}

/** The run's end with the same outcome, but without any content that the store may reject. */
function bareEnd(state: HeldPhases, { outcome, stopReason, error }: RunEnd): RunEnd {
  if (error === undefined) return { outcome, stopReason }
  return withoutNumbers(failure(state, error, { parts: [] }))
}

/** The end of a run that has crashed at every attempt; undefined for all other runs. */
export function endOfCrashLoop(state: HeldPhases): RunEnd | undefined {
  if ((state.held.found?.header.takeovers ?? 0) < MAX_TAKEOVERS) return undefined
  const message = `the run was taken over ${MAX_TAKEOVERS} times without progress`
  const error = { code: 'crashed_repeatedly', message, retryable: true } as const
  return failure(state, error, { parts: [], round: state.held.run.rounds })
}

function failure(
  state: HeldPhases,
  error: RunError,
  { parts, ...content }: { readonly parts: readonly AssistantPart[]; readonly model?: string; readonly round?: number },
): RunEnd {
  const message = assistantMessage(state, state.leader, {
    parts: [...parts, { type: 'error', code: error.code, text: error.message }],
    ...content,
    finishReason: 'error',
  })
  return { outcome: 'failed', stopReason: 'error', error, message }
}

/** The error that clients see. Operators find the full error in the log; models log their own errors. */
function describe({ ports, held, writer }: HeldPhases, cause: unknown): RunError {
  if (cause instanceof ModelError) return { code: cause.code, message: cause.message, retryable: cause.retryable }
  ports.logger.error('a run failed', cause, { ...writer.key, run: held.run.id })
  return { code: 'storage', message: shown(cause), retryable: true }
}

function shown(cause: unknown): string {
  if (isStorageFailure(cause)) return 'the storage did not respond'
  return cause instanceof TooltrailError ? cause.message : 'something went wrong on our side'
}

/**
 * Ends the run after an error if this process still holds the lease. It first waits for results that are being stored,
 * so that their calls end with the real outcome. If the lease is lost or released during this wait, the next holder marks
 * the calls as interrupted.
 */
export async function stopAfter(state: HeldPhases, error: unknown): Promise<ReleasedPhase> {
  try {
    if (isLeaseLost(error)) return { phase: 'lost' }
    await state.writer.settled().catch((refusal: unknown) => withoutResult(state, error, refusal))
    return await endOrFallBack(state, { ...endAfter(error, state), ...(await refusedContext(state, error)) })
  } catch (second) {
    if (isLeaseLost(second)) return { phase: 'lost' }
    throw second
  }
}

/** Returns the context after a run whose request was refused in every form. */
async function refusedContext(state: HeldPhases, error: unknown): Promise<Pick<RunEnd, 'context'>> {
  const cause = error instanceof CompletionFailed ? error.cause : undefined
  if (state.phase === 'opening' || !(cause instanceof ModelError) || !isRepairable(cause)) return {}
  const { contextAfterRefusal } = await import('./context/repair.ts')
  return { context: contextAfterRefusal(state) }
}

/**
 * Ends the run with its content. If the store rejects the content permanently, ends the run without the content, so that no
 * holder retries the run.
 */
async function endOrFallBack(state: HeldPhases, end: RunEnd): Promise<EndedPhase> {
  try {
    return await endRun(state, end)
  } catch (refusal) {
    if (isLeaseLost(refusal)) throw refusal
    const { ports, writer, held } = state
    ports.logger.error('the end of a run was refused', refusal, { ...writer.key, run: held.run.id })
    return endRun(state, bareEnd(state, end))
  }
}

/**
 * Logs a result that the store rejected permanently: its call is closed with the run. Throws if the lease was lost,
 * because the outcome is unknown then.
 */
function withoutResult({ ports, held, writer }: HeldPhases, stoppedBy: unknown, refusal: unknown): void {
  if (isLeaseLost(refusal)) throw refusal
  if (refusal === stoppedBy) return
  ports.logger.error('a result was not stored', refusal, { ...writer.key, run: held.run.id })
}

const isLeaseLost = (error: unknown): boolean =>
  error instanceof LeaseLost || (error instanceof Error && error.cause instanceof LeaseLost)
