import type { ClosedNumbers } from '../../domain/messages/closed-message.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { NumberedSources } from '../../domain/messages/source.ts'
import { highestOf } from '../../log/sources.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import type { StoredCalls } from './stored-calls.ts'

/**
 * The numbers of sources that a completion of an import brings, as its row records them. Undefined where the session has one of them
 * already, a result is not here, or something else has come since and may have numbered it: then a later request gives all that are
 * missing. Made for one step, after the session's header was read: a step is not stored if anybody has given numbers since.
 * `since`: the first message of the import behind what came last from elsewhere.
 */
export function createKeptNumbers(
  reader: Pick<LogReader, 'sources'>,
  key: SessionKey,
  { calls, since }: { readonly calls: Pick<StoredCalls, 'resultIdOf'>; readonly since: string },
) {
  const kept: NumberedSources[] = []
  return async ({ from, results }: ClosedNumbers): Promise<readonly NumberedSources[] | undefined> => {
    const numbered: NumberedSources[] = []
    let next = from
    for (const result of results) {
      const message = await calls.resultIdOf(result)
      if (message === undefined || message < since) return undefined
      const { sources: count = 0 } = result
      numbered.push({ message, from: next, count })
      next += count
    }
    const { numbered: stored } = await reader.sources(key, { order: 'ascending', after: from - 1, limit: 1 })
    const isTaken = (one: NumberedSources): boolean => one.from < next && highestOf([one]) >= from
    if ([...kept, ...stored].some(isTaken)) return undefined
    kept.push(...numbered)
    return numbered
  }
}
