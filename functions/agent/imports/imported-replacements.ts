import type { ClosedMessage } from '../../domain/messages/closed-message.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { LogReader } from '../../ports/log-reader.ts'

/** Runs per read when an import looks up a run that an earlier call has stored. */
const PAGE = 100

/**
 * Follows the marks of superseded messages in an import. It finds the runs that supersede earlier ones of the import. If a run
 * that superseded others has no message, the next run takes its place.
 */
export interface MarkedRuns {
  /** Takes the next message. Returns the original id of the first run that this message's run supersedes. */
  take(message: ClosedMessage): string | undefined
}

/** Creates the `MarkedRuns` of one import. */
export function createMarkedRuns(): MarkedRuns {
  /** The first superseded run, by the original id of the run that supersedes it. */
  const pending = new Map<string, string>()
  let current: string | undefined
  return {
    take({ run, supersededBy }) {
      if (run === undefined || run === current) return undefined
      current = run
      let from: string | undefined
      for (const [by, first] of pending)
        if (by <= run) {
          from ??= first
          pending.delete(by)
        }
      if (supersededBy !== undefined && !pending.has(supersededBy)) pending.set(supersededBy, run)
      return from
    },
  }
}

/** Returns the run of an import whose id in the original log is this one; undefined if it is not in the session. */
export async function findOriginal(
  reader: Pick<LogReader, 'runs'>,
  key: SessionKey,
  original: string,
): Promise<string | undefined> {
  for (let before: string | undefined; ;) {
    const page = await reader.runs(key, { limit: PAGE, ...(before === undefined ? {} : { before }) })
    const found = page.runs.find((run) => run.original === original)
    before = page.runs.at(-1)?.id
    if (found !== undefined || !page.more || before === undefined) return found?.id
  }
}
