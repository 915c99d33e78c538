/** Limit of the platform's timers: 24.8 days. A longer timer would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * A reason to pass to `abort` if no code reads the reason. `abort()` without a reason creates a `DOMException` with a
 * stack each time.
 */
export const STOPPED = new Error('stopped')

export interface TimeLimit {
  /** Aborts with the reason of the work's signal, or with the timeout error. */
  readonly signal: AbortSignal
  /** Restarts the timeout. */
  restart(): void
  /** Ends the limit: its signal no longer aborts, and its memory is released. */
  end(): void
}

/**
 * Limits the time of work that must also stop when `signal` aborts. Call `end` when the work is done. `AbortSignal.any`
 * and `AbortSignal.timeout` are not used, because they would stay in memory until the timeout, even after the work has
 * ended.
 */
export function limitTime(signal: AbortSignal, milliseconds: number, late: () => Error): TimeLimit {
  const limited = new AbortController()
  const stop = (): void => limited.abort(signal.reason)
  const timer = setTimeout(() => limited.abort(late()), Math.min(milliseconds, MAX_TIMER_MS))
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  return {
    signal: limited.signal,
    restart: () => void timer.refresh(),
    end() {
      clearTimeout(timer)
      signal.removeEventListener('abort', stop)
    },
  }
}

/**
 * The result of `work`. If the signal aborts first, rejects with the signal's reason, and the work is abandoned. If the
 * work has settled before the abort, the abort has no effect.
 */
export function raceAbort<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    // If the work has settled already, its outcome is passed on before this microtask runs.
    const stop = (): void => queueMicrotask(() => reject(signal.reason as Error))
    const end = (): void => signal.removeEventListener('abort', stop)
    signal.addEventListener('abort', stop)
    onSettled(work, end, { resolve, reject })
    if (signal.aborted) stop()
  })
}

/** An operation did not finish in time; its outcome is unknown. */
export class TimedOut extends Error {
  constructor(who: string, milliseconds: number) {
    super(`${who} did not come back within ${milliseconds / 1_000} s`)
    this.name = 'TimedOut'
  }
}

/** The result of `work`; rejects with `TimedOut` if it takes longer. */
export async function withinTime<Result>(
  milliseconds: number,
  who: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const result = work()
  return new Promise((resolve, reject) => {
    const late = (): void => reject(new TimedOut(who, milliseconds))
    const timer = setTimeout(late, Math.min(milliseconds, MAX_TIMER_MS))
    onSettled(result, () => clearTimeout(timer), { resolve, reject })
  })
}

interface Settling<Result> {
  resolve(result: Result): void
  reject(error: unknown): void
}

/** Calls `end` when the work has settled, then passes its outcome on. */
function onSettled<Result>(work: Promise<Result>, end: () => void, { resolve, reject }: Settling<Result>): void {
  work.then(
    (result) => {
      end()
      resolve(result)
    },
    (error: unknown) => {
      end()
      reject(error)
    },
  )
}
