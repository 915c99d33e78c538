import pRetry from 'p-retry'
import type { RunEvent } from '../../domain/events.ts'
import type { AssistantPart } from '../../domain/message.ts'
import type { ModelRequest } from '../../domain/model-request.ts'
import { delta, roundRestarted } from '../../log/run-events.ts'
import type { RoundOfThread } from '../../log/run-events.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Model, Completion } from '../../ports/model.ts'
import { ModelError } from '../../ports/model.ts'
import type { LeaseKeeper } from './lease-keeper.ts'
import { limitTime, raceAbort } from './time-limit.ts'

/** A request without any event for so many milliseconds has failed, unless the agent's options say another time. */
const SILENT_MS = 120_000
const RETRIES = 3
/** A provider that asks for a longer wait fails the run instead. */
const LONGEST_WAIT_MS = 60_000

/** A request that came to no completion, with the text and reasoning that had streamed before. */
export class CompletionFailed extends Error {
  readonly streamed: readonly AssistantPart[]
  constructor(cause: unknown, streamed: readonly AssistantPart[]) {
    super('the model gave no completion', { cause })
    this.name = 'CompletionFailed'
    this.streamed = streamed
  }
}

interface Target {
  readonly model: Model
  readonly clock: Clock
  readonly at: RoundOfThread
  readonly keeper: Pick<LeaseKeeper, 'expect'>
  emit(event: RunEvent): void
}

/**
 * Asks the model until it has given a completion. Errors that may pass are tried again, after `Retry-After` or a growing wait;
 * consumers are told to discard what had streamed. Rejects with `CompletionFailed`, whose cause is a `ModelError` or the signal's
 * reason.
 */
export async function requestCompletion(
  target: Target,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<Completion> {
  let streamed: AssistantPart[] = []
  const attempt = async (count: number): Promise<Completion> => {
    if (count > 1) target.emit(roundRestarted(target.at, 'retry'))
    streamed = []
    return streamCompletion(target, request, signal, streamed)
  }
  try {
    return await pRetry(attempt, {
      retries: RETRIES,
      minTimeout: 0,
      signal,
      shouldRetry: ({ error }) => isWorthRetrying(error),
      onFailedAttempt: async ({ error, attemptNumber, retriesLeft }) => {
        if (retriesLeft === 0 || !isWorthRetrying(error)) return
        const wait = waitAfter(error, attemptNumber)
        const met = target.keeper.expect(wait)
        await target.clock.sleep(wait, signal).finally(met)
      },
    })
  } catch (error) {
    throw new CompletionFailed(signal.aborted ? signal.reason : error, streamed)
  }
}

function isWorthRetrying(error: Error): boolean {
  return error instanceof ModelError && error.retryable && (error.retryAfterMs ?? 0) <= LONGEST_WAIT_MS
}

/** Milliseconds: what the provider asked for, else 0.5 s, 1 s, 2 s with jitter. */
function waitAfter(error: Error, attempt: number): number {
  if (error instanceof ModelError && error.retryAfterMs !== undefined) return error.retryAfterMs
  return 500 * 2 ** (attempt - 1) * (0.5 + Math.random() / 2)
}

/** One attempt; fills `streamed` as deltas arrive. */
async function streamCompletion(
  target: Target,
  request: ModelRequest,
  signal: AbortSignal,
  streamed: AssistantPart[],
): Promise<Completion> {
  const limit = request.options.timeoutMs ?? SILENT_MS
  const silent = (): Error =>
    new ModelError('timeout', `the model was silent for ${limit / 1_000} s`, { retryable: true })
  const idle = limitTime(signal, limit, silent)
  // A stream that ignores its signal is not waited for.
  const events = target.model.stream(request, idle.signal)[Symbol.asyncIterator]()
  let met = target.keeper.expect(limit)
  try {
    for (;;) {
      const next = await raceAbort(events.next(), idle.signal)
      if (next.done === true) break
      const event = next.value
      met()
      met = target.keeper.expect(limit)
      idle.restart()
      if (event.type === 'completion') return event.completion
      target.emit(delta(target.at, event))
      if (event.type !== 'tool_call.delta') addDelta(streamed, event)
    }
  } catch (error) {
    idle.signal.throwIfAborted()
    throw error
  } finally {
    met()
    idle.end()
    void events.return?.().catch(() => undefined)
  }
  throw new ModelError('network', 'the stream ended before the completion was whole', { retryable: true })
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
