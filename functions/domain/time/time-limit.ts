/** Limit of the platform's timers: 24.8 days. A longer one would fire at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1

export interface TimeLimit {
  /** Aborts with the reason of the work's signal, or with what says that the time is over. */
  readonly signal: AbortSignal
  /** Lets the time begin anew. */
  restart(): void
  /** Ends the limit: from now on nothing aborts, and nothing is kept for it. */
  end(): void
}

/**
 * Limits the time of a piece of work that must stop with `signal`, too, until it is ended. The platform's composed signals and
 * timeouts would each be kept until the timeout is over, long after the work.
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

/** What `work` comes to, unless the signal aborts first: then rejects with its reason, and nobody waits for the work. */
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

/** Something did not come back in its time; what becomes of it is not known. */
export class TimedOut extends Error {
  constructor(who: string, milliseconds: number) {
    super(`${who} did not come back within ${milliseconds / 1_000} s`)
    this.name = 'TimedOut'
  }
}

/** What `work` comes to; rejects with `TimedOut` when that takes longer. */
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
