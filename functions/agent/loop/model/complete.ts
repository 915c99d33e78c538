import pRetry from 'p-retry'
import type { Policies } from '../../../domain/agent.ts'
import type { RunEvent } from '../../../domain/events.ts'
import type { AssistantPart } from '../../../domain/messages/message.ts'
import type { ModelRequest, RequestMedia, ToolDeclaration } from '../../../domain/model-request.ts'
import type { WarningCode } from '../../../domain/runs/run.ts'
import { isNamed } from '../../../domain/usage/usage.ts'
import type { Usage } from '../../../domain/usage/usage.ts'
import { delta } from '../../../log/run-events.ts'
import type { RoundOfThread } from '../../../log/run-events.ts'
import type { Clock } from '../../../ports/clock.ts'
import { ModelError } from '../../../ports/model.ts'
import type { Completion, Model } from '../../../ports/model.ts'
import { attachMedia } from '../../media.ts'
import { limitTime, raceAbort } from '../../../domain/time/time-limit.ts'
import type { LeaseKeeper } from '../writer/lease-keeper.ts'
import { fittingRequest } from '../context/context.ts'
import type { Asked, SizedRequest } from '../context/context.ts'
import { isWarned, warning } from '../notices.ts'
import { recordDecision } from '../record-decision.ts'
import { declaredTools } from './model-request.ts'
import { restartRound, startRound } from './attempts.ts'
import { CompletionFailed } from './completion-failed.ts'
import { sendFitting } from './send-fitting.ts'
import { choiceOf, fittingAnswer } from './typed-answer.ts'
import type { Answer } from './typed-answer.ts'
import type { RunState } from '../run-state.ts'
import type { NewNotice } from '../writer/run-writer.ts'
import { ownMessages, roundOf } from '../thread.ts'
import type { OpenThread, Thread } from '../thread.ts'
import { countUnstoredOf, estimatedUsage } from './unstored-usage.ts'
import { createCharacterJoiner } from './whole-characters.ts'

/** Maximum time between two events of a response, in milliseconds. The agent's options may set another limit. */
const SILENT_MS = 120_000
const RETRIES = 3
/** Longest `Retry-After` that is waited for. If a provider asks for more, the run fails. */
const MAX_RETRY_AFTER_MS = 60_000

/** Why a completion is cut off: the process ran out of time, or it is stopping. */
export class CutOff extends Error {
  readonly why: 'out_of_time' | 'shutting_down'
  constructor(why: CutOff['why']) {
    super(why === 'out_of_time' ? 'no process may run for longer' : 'this process is shutting down')
    this.name = 'CutOff'
    this.why = why
  }
}

interface Asking {
  readonly model: Model
  readonly isLast: boolean
  /** Aborts to cut off the completion: for a hand-off, or because the run must stop. */
  readonly signal: AbortSignal
  /** Notices for the run's followers, recorded with the decision of the request. */
  readonly notices: readonly NewNotice[]
}

/**
 * Requests the model's next completion. Returns undefined when the request was cut off: nothing is stored, and another process
 * sends it again. Rejects with `CompletionFailed`. Also rejects if the request was cut off although it could use the whole
 * lifetime of a process.
 */
export async function nextCompletion(state: RunState, thread: OpenThread, asking: Asking): Promise<Answer | undefined> {
  try {
    return await askWithPolicy(state, thread, asking)
  } catch (error) {
    if (!(error instanceof CompletionFailed) || !(error.cause instanceof CutOff)) throw error
    if (thread.isWhole && error.cause.why === 'out_of_time') {
      const text = 'the completion took longer than one process may run'
      throw new CompletionFailed(new ModelError('timeout', text, { retryable: false, cause: error }), error.streamed)
    }
    restartRound(state, thread, 'handed_over')
    return undefined
  }
}

/**
 * Requests a completion. If it lacks the call that policy `require_tool` demands, asks once more with the call forced.
 * If it is final and does not fit the format, asks once more with the faults. Only the last completion is stored.
 */
async function askWithPolicy(
  state: RunState,
  thread: OpenThread,
  { model, isLast, signal, notices }: Asking,
): Promise<Answer> {
  const { request: newest, session } = state
  const { clock } = state.ports
  const { requireTool } = thread.agent.policies
  const tools = declaredTools(thread.tools, newest.clientTools)
  const at = roundOf(thread)
  const count = (usage: Usage): Promise<void> => countUnstoredOf(state, thread, { model: model.name, usage })
  const warn = (detail: string): Promise<void> => warnOnce(state, thread, { code: 'unknown_frames', detail })
  const retry = (): void => restartRound(state, thread, 'retry')
  const target = { model, clock, at, keeper: state.writer, emit: state.emit, count, restart: retry, warn }
  const send = async ({ request, tokens }: SizedRequest): Promise<Completion> => {
    const { messages, missing } = await attachMedia(request.messages, session, state.reads.outputs)
    await warnOfMissing(state, missing)
    return requestCompletion(target, { request: { ...request, messages }, tokens }, signal)
  }
  const ask = (asked: Asked, sized: SizedRequest): Promise<Completion> => sendFitting(state, asked, sized, send)
  const first: Asked = { thread, tools, toolChoice: isLast ? 'none' : choiceOf(state, thread, tools) }
  const restart = async (reason: string, asked: Asked): Promise<Completion> => {
    restartRound(state, thread, reason)
    return ask(asked, await fittingRequest(state, asked))
  }
  const sized = await fittingRequest(state, first, notices)
  startRound(state, thread)
  const completion = await ask(first, sized)
  const demanded = isLast ? undefined : demandedChoice(thread, tools)
  if (demanded === undefined || satisfies(completion.toolCalls, requireTool))
    return fittingAnswer(state, first, completion, (repeated) => restart('response_format', repeated))
  await countUnstoredOf(state, thread, completion)
  return restart('require_tool', { thread, tools, toolChoice: demanded })
}

/** Warns followers, once per run, about media that can no longer be read. */
async function warnOfMissing(state: RunState, missing: readonly RequestMedia[]): Promise<void> {
  if (missing.length === 0) return
  const names = missing.map(({ filename, type }) => filename ?? type)
  const detail = `${names.join(', ')} cannot be read any more: a note stands in the request`
  await warnOnce(state, state.leader, { code: 'media_unavailable', detail })
}

/** Records a warning, unless the run has the same one already. */
async function warnOnce(
  state: RunState,
  thread: Thread,
  { code, detail }: { readonly code: WarningCode; readonly detail: string },
): Promise<void> {
  if (isWarned(state.context.notices, detail)) return
  await recordDecision(state, { notices: [warning(thread, code, detail)] })
}

/** Returns the tool choice that forces the demanded call; undefined when no call is demanded or the run has made it. */
function demandedChoice(thread: Thread, tools: readonly ToolDeclaration[]): ModelRequest['toolChoice'] | undefined {
  const { requireTool } = thread.agent.policies
  if (requireTool === null || tools.length === 0) return undefined
  // A run that has no input has no client tools, so a demanded client tool may be missing.
  if (requireTool !== 'any' && !tools.some(({ name }) => name === requireTool.name)) return undefined
  const calls = ownMessages(thread).flatMap((message) => (message.role === 'assistant' ? message.toolCalls : []))
  if (satisfies(calls, requireTool)) return undefined
  return requireTool === 'any' ? 'required' : requireTool
}

function satisfies(calls: readonly { readonly name: string }[], demanded: Policies['requireTool']): boolean {
  if (demanded === null) return true
  return demanded === 'any' ? calls.length > 0 : calls.some((call) => call.name === demanded.name)
}

interface Target {
  readonly model: Model
  readonly clock: Clock
  readonly at: RoundOfThread
  readonly keeper: Pick<LeaseKeeper, 'startWatchdog' | 'check'>
  emit(event: RunEvent): void
  /** Counts the usage of an attempt that was cut off. */
  count(usage: Usage): Promise<void>
  /** Discards the attempt's deltas, before a retry. Absent if there is no run. */
  restart?(): void
  /** Records a warning for followers of the run. Absent if there is no run. */
  warn?(detail: string): Promise<void>
}

/**
 * Requests a completion and retries temporary errors. Waits for `Retry-After` or an exponential backoff, whichever is
 * longer. Before a retry, consumers are notified to discard the streamed text. Rejects with `CompletionFailed`, whose
 * cause is a `ModelError` or the signal's reason.
 */
export async function requestCompletion(
  target: Target,
  request: Pick<SizedRequest, 'request' | 'tokens'>,
  signal: AbortSignal,
): Promise<Completion> {
  let streamed: AssistantPart[] = []
  /** Number of attempts whose stream had only unknown frames. Such an attempt is retried once. */
  let unknown = 0
  const attempt = async (count: number): Promise<Completion> => {
    // A process that was suspended may not know yet that its lease has expired. A request by this process would be wasted.
    target.keeper.check()
    signal.throwIfAborted()
    if (count > 1) target.restart?.()
    streamed = []
    return streamCompletion(target, request, signal, streamed)
  }
  try {
    return await pRetry(attempt, {
      retries: RETRIES,
      minTimeout: 0,
      signal,
      shouldRetry: ({ error }) => isWorthRetrying(error, unknown),
      onFailedAttempt: async ({ error, attemptNumber, retriesLeft }) => {
        if (error instanceof ModelError && error.unknownFrames !== undefined) {
          unknown++
          await target.warn?.(error.message)
        }
        if (retriesLeft === 0 || !isWorthRetrying(error, unknown)) return
        const wait = waitAfter(error, attemptNumber)
        const done = target.keeper.startWatchdog(wait)
        await target.clock.sleep(wait, signal).finally(done)
      },
    })
  } catch (error) {
    throw new CompletionFailed(signal.aborted ? signal.reason : error, streamed)
  }
}

function isWorthRetrying(error: Error, unknown: number): boolean {
  if (!(error instanceof ModelError) || !error.retryable) return false
  if (error.unknownFrames !== undefined && unknown > 1) return false
  return (error.retryAfterMs ?? 0) <= MAX_RETRY_AFTER_MS
}

/** The longer of two waits, in milliseconds: `Retry-After`, and a backoff of 0.5 s, 1 s, 2 s with jitter. */
function waitAfter(error: Error, attempt: number): number {
  const askedMs = error instanceof ModelError ? (error.retryAfterMs ?? 0) : 0
  return Math.max(askedMs, 500 * 2 ** (attempt - 1) * (0.5 + Math.random() / 2))
}

/**
 * Makes one attempt; fills `streamed` as deltas arrive. A failed attempt is counted with the usage that the provider
 * reports. Without a report, it is counted with an estimate if output had arrived or if it was aborted here: the
 * provider keeps working until it notices the abort. Other failed attempts are not counted.
 */
async function streamCompletion(
  target: Target,
  { request, tokens }: Pick<SizedRequest, 'request' | 'tokens'>,
  signal: AbortSignal,
  streamed: AssistantPart[],
): Promise<Completion> {
  const limit = request.options.timeoutMs ?? SILENT_MS
  const silent = (): Error =>
    new ModelError('timeout', `the model was silent for ${limit / 1_000} s`, { retryable: true })
  const idle = limitTime(signal, limit, silent)
  // If the stream ignores its signal, it is abandoned without waiting.
  const events = target.model.stream(request, idle.signal)[Symbol.asyncIterator]()
  const joinCharacters = createCharacterJoiner()
  let done = target.keeper.startWatchdog(limit)
  let output = ''
  try {
    for (;;) {
      const next = await raceAbort(events.next(), idle.signal)
      if (next.done === true)
        throw new ModelError('network', 'the stream ended before the completion was whole', { retryable: true })
      done()
      done = target.keeper.startWatchdog(limit)
      idle.restart()
      for (const event of joinCharacters(next.value)) {
        if (event.type === 'completion') return event.completion
        target.emit(delta(target.at, event))
        output += event.type === 'tool_call.delta' ? event.arguments : event.text
        if (event.type !== 'tool_call.delta') addDelta(streamed, event)
      }
    }
  } catch (error) {
    idle.end()
    const named = error instanceof ModelError ? error.usage : undefined
    if (named !== undefined && isNamed(named)) await target.count(named)
    else if (idle.signal.aborted || output !== '') await target.count(estimatedUsage(tokens, output))
    idle.signal.throwIfAborted()
    throw error
  } finally {
    done()
    idle.end()
    void events.return?.().catch(() => undefined)
  }
}

function addDelta(
  streamed: AssistantPart[],
  delta: { readonly type: 'text.delta' | 'reasoning.delta'; readonly part: number; readonly text: string },
): void {
  const type = delta.type === 'text.delta' ? 'text' : 'reasoning'
  const last = streamed.at(-1)
  if (last?.type === type) streamed[streamed.length - 1] = { type, text: last.text + delta.text }
  else streamed.push({ type, text: delta.text })
}
