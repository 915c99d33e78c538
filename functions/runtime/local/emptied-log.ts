import type { SessionDeletion } from '../../ports/session-deletion.ts'

/** Delay in milliseconds before the log is emptied: after the first of several deletions, and between two attempts. */
const WAIT_MS = 2_000

interface Dependencies {
  readonly deletion: SessionDeletion
  /** Whether a killed program has left a write-ahead log behind. This log may still contain deleted texts. */
  readonly isLeft: boolean
  /** Empties the log. Returns false if the log could not be emptied now: call the function again later. */
  readonly emptyLog: () => Promise<boolean>
  /** Called with the reason when emptying the log failed. The next deletion makes a new attempt. */
  readonly report: (error: unknown) => void
}

/**
 * Wraps a deletion so that the write-ahead log is emptied soon after a session is deleted. Until then, the log still
 * has the session's texts. The timer does not keep the program running. A program that shuts down cleanly removes the
 * log. After a kill, the next program empties the log soon after its start.
 */
export function emptyLogAfterwards({ deletion, isLeft, emptyLog, report }: Dependencies): SessionDeletion {
  let isDue = false
  const soon = (): void => {
    if (isDue) return
    isDue = true
    setTimeout(() => void empty(), WAIT_MS).unref()
  }
  async function empty(): Promise<void> {
    isDue = false
    try {
      if (!(await emptyLog())) soon()
    } catch (error) {
      report(error)
    }
  }
  if (isLeft) soon()
  return {
    ...deletion,
    async markRemoved(key, outputs) {
      await deletion.markRemoved(key, outputs)
      soon()
    },
    async finish(key) {
      await deletion.finish(key)
      soon()
    },
  }
}
