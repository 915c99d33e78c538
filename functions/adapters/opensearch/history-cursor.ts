import * as z from 'zod'
import type { HistoryQuery } from '../../domain/history.ts'
import { decodeCursor, encodeCursor, PRINT } from '../../search/cursor.ts'
import type { Stage } from './search-bodies.ts'

/**
 * Where a page ended. It carries the order of the best events as the first page found it, so that later pages go on in this
 * order whatever is written meanwhile: no event twice, none missed, none that is newer than the first page. After the best
 * come the others that match, newest first. Deleted events are left out.
 */
export interface HistoryCursor {
  /** Prints of the best events, best first. */
  readonly head: readonly string[]
  /** How many of them were shown. */
  readonly shown: number
  /** Older events are left, once the best are shown. Undefined before the first page. */
  readonly below: string | undefined
  readonly stage: Stage
}

const Place = z.tuple([
  z.string().max(10_000),
  z.int().min(0),
  z.string().max(100),
  z.union([z.literal(0), z.literal(1), z.literal(2), z.literal(3)]),
])

/** Writes a cursor of this query. */
export const writeCursor = (query: HistoryQuery, { head, shown, below, stage }: HistoryCursor): string =>
  encodeCursor(query, [head.join(''), shown, below ?? '', stage])

/** Reads a cursor. Throws `invalid_query` for an invalid cursor, or one of another query. */
export function readCursor(query: HistoryQuery, text: string): HistoryCursor {
  const [prints, shown, below, stage] = decodeCursor(query, text, Place)
  const head = Array.from({ length: Math.floor(prints.length / PRINT) }, (_, place) =>
    prints.slice(place * PRINT, (place + 1) * PRINT),
  )
  return { head, shown, below: below === '' ? undefined : below, stage }
}
