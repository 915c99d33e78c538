import type { RunEvent } from './api-types.ts'
import { ApiProblem, expectType } from './problem.ts'
import { sentEvents } from './sse.ts'

const FIRST_WAIT_MS = 250
const MAX_WAIT_MS = 5_000
/** A refusal that asks for a longer wait, as one by a budget of the day does, is for whoever asked. */
const MAX_RETRY_AFTER_MS = 10_000
/** A program that is down for longer may ask for more, but is looked for all the same. */
const MAX_OUTAGE_WAIT_MS = 60_000
/** How often a request that has begun nothing yet is sent again after it was refused for now. */
const AGAIN_AT_FIRST = 2
const ENDS = ['run.completed', 'run.failed', 'run.cancelled']

export interface FollowOptions {
  readonly signal?: AbortSignal | undefined
  /** Id of an event: only what comes after it, from the start of its round. */
  readonly after?: string | undefined
  /** Told each time the connection is lost, with the reason, before the next attempt. */
  readonly onLost?: ((reason: unknown) => void) | undefined
}

/** An event of a run; `id` if it reports something stored. */
export interface FollowedEvent {
  readonly id?: string
  readonly event: RunEvent
}

/** Opens the stream of a run's events. `run` and `after` as far as they are known. */
export type OpenEvents = (
  at: { readonly run?: string | undefined; readonly after?: string | undefined },
  signal: AbortSignal | undefined,
) => Promise<Response>

/**
 * A run's events, each stored one once, to its end or to the pause that goes on: earlier pauses are told in their places, too.
 * A connection that breaks is opened again with the last id, for as long as `signal` does not abort. Deltas that the new
 * connection repeats are preceded by a `round.restarted`. Throws an `ApiProblem` when the API refuses for good, or with 429 for
 * longer than ten seconds; before the first event also when it has refused three times in a row.
 */
export async function* followEvents(
  open: OpenEvents,
  options: FollowOptions & { readonly run?: string },
): AsyncGenerator<FollowedEvent, void, undefined> {
  const { signal, onLost } = options
  const seen = new Set<string>()
  let { run, after } = options
  let streaming: RunEvent | undefined
  let failures = 0
  let isPaused = false
  const gone = (): boolean => signal?.aborted === true
  while (!gone()) {
    let reason: unknown = 'the stream ended before the run did'
    try {
      const response = await expectType(await open({ run, after }, signal), 'text/event-stream')
      for await (const { id, data } of sentEvents(response.body ?? new ReadableStream())) {
        failures = 0
        const event = JSON.parse(data) as RunEvent
        run = event.run_id
        isPaused = event.type === 'run.paused'
        if (id !== undefined) {
          after = id
          if (seen.has(id)) continue
          seen.add(id)
          streaming = undefined
        } else if (event.type.endsWith('.delta')) streaming = event
        yield { event, ...(id === undefined ? {} : { id }) }
        if (ENDS.includes(event.type)) return
      }
      if (isPaused) return
    } catch (error) {
      if (isFinal(error) || (isRefusal(error) && run === undefined && failures >= AGAIN_AT_FIRST)) throw error
      reason = error
    }
    if (gone()) return
    if (streaming !== undefined && 'round' in streaming) {
      const { session_id, run_id, round } = streaming
      yield { event: { type: 'round.restarted', session_id, run_id, round, reason: 'connection lost' } }
      streaming = undefined
    }
    onLost?.(reason)
    await pause(waitOf(reason, failures++), signal)
  }
}

const isRefusal = (error: unknown): boolean => error instanceof ApiProblem && error.status === 429

/** Trying again would not help, or not soon. */
export const isFinal = (error: unknown): boolean =>
  error instanceof ApiProblem &&
  error.status < 500 &&
  error.status !== 408 &&
  (error.status !== 429 || (error.retryAfterMs ?? 0) > MAX_RETRY_AFTER_MS)

function waitOf(reason: unknown, failures: number): number {
  const asked = reason instanceof ApiProblem ? Math.min(MAX_OUTAGE_WAIT_MS, reason.retryAfterMs ?? 0) : 0
  return Math.max(asked, Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(failures, 10)))
}

/** Resolves early when the signal aborts. */
function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal?.addEventListener('abort', done)
  })
}
