import type { SessionDeletion } from '../../ports/session-deletion.ts'

/** After the first of several deletions, and between two attempts. */
const WAIT_MS = 2_000

interface Dependencies {
  readonly deletion: SessionDeletion
  /** Whether a program that was killed has left texts in the log: of a deletion, perhaps, after which it was not emptied. */
  readonly isLeft: boolean
  /** False: try again. */
  readonly emptyLog: () => Promise<boolean>
  /** Is called with the reason when it failed; the next deletion tries again. */
  readonly report: (error: unknown) => void
}

/**
 * Deletes as before; soon after each session the write-ahead log is emptied, which still had its texts. It keeps no program running:
 * one that stops in order removes the log, and after a kill the next one empties it soon after its start.
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
