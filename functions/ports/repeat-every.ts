import type { Clock } from './clock.ts'

export interface Repetition {
  /** Resolves when the work in progress has ended; no more work starts. */
  stop(): Promise<void>
}

/**
 * Repeats work until stopped. Waits `everyMs` from the end of the work to its next start. A failure is reported and does not stop
 * the repetition.
 */
export function repeatEvery(
  clock: Pick<Clock, 'sleep'>,
  everyMs: number,
  work: () => Promise<unknown>,
  report: (error: unknown) => void,
): Repetition {
  const stopping = new AbortController()
  const done = (async () => {
    while (!stopping.signal.aborted) {
      await work().catch(report)
      await clock.sleep(everyMs, stopping.signal).catch(() => undefined)
    }
  })()
  return {
    async stop() {
      stopping.abort()
      await done
    },
  }
}
