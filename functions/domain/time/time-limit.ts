/** Limit of the platform's timers: 24.8 days. A longer timer would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1

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

/** The result of `work`. If the signal aborts first, rejects with its reason, and the work is abandoned. */
export async function raceAbort<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  let stop: (() => void) | undefined
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason as Error)
    signal.addEventListener('abort', stop)
    if (signal.aborted) stop()
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    if (stop !== undefined) signal.removeEventListener('abort', stop)
  }
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
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new TimedOut(who, milliseconds)), Math.min(milliseconds, MAX_TIMER_MS))
  try {
    return await raceAbort(work(), late.signal)
  } finally {
    clearTimeout(timer)
  }
}
