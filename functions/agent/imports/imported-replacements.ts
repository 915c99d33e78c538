import type { ClosedMessage } from '../../domain/messages/closed-message.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { LogReader } from '../../ports/log-reader.ts'

/** Runs per read when an import looks up a run that an earlier call has stored. */
const PAGE = 100

/**
 * Finds the runs of an import that supersede earlier runs: each superseded message names its superseding run. If that run has no
 * message in the import, the next run supersedes the earlier runs.
 */
export interface MarkedRuns {
  /** Takes the next message. Returns the original id of the first run that this message's run supersedes. */
  take(message: ClosedMessage): string | undefined
}

/** Creates the `MarkedRuns` of one import. */
export function createMarkedRuns(): MarkedRuns {
  /** Maps the original id of each superseding run to the first run that it supersedes. */
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

/** Returns the id of the session's run that is the imported copy of the run `original`; undefined if there is none. */
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
