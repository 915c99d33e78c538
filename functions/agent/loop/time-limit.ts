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
  const timer = setTimeout(() => limited.abort(late()), milliseconds)
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
