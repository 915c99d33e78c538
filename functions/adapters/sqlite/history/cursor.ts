import * as z from 'zod'
import type { HistoryQuery } from '../../../domain/history.ts'
import { decodeCursor, encodeCursor } from '../../../search/cursor.ts'

/**
 * Where a page ended. It carries the order of the best events as the first page found it, so that later pages go on in this
 * order whatever is written meanwhile: no event twice, none missed, none that is newer than the first page. After the best
 * come the others that match, newest first; of these, one that changes between two pages (its result comes in) counts as new.
 * Deleted events are left out.
 */
export interface HistoryCursor {
  /** Numbers of the best events, best first. */
  readonly head: readonly number[]
  /** How many of them were shown. */
  readonly shown: number
  /** Documents with smaller numbers are left, once the best are shown. */
  readonly below: number
  /** Which of the ways to match found the events: the same goes on. */
  readonly stage: number
  /** Whether words were stretched to what they may be a piece or a slip of. */
  readonly stretched: boolean
}

const Place = z.tuple([
  z.array(z.int().min(1)).max(1_000),
  z.int().min(0),
  z.int().min(0),
  z.int().min(0).max(9),
  z.boolean(),
])

/** Writes a cursor of this query. */
export const writeCursor = (query: HistoryQuery, { head, shown, below, stage, stretched }: HistoryCursor): string =>
  encodeCursor(query, [head, shown, below, stage, stretched])

/** Reads a cursor. Throws `invalid_query` for what is no cursor, or one of another query. */
export function readCursor(query: HistoryQuery, text: string): HistoryCursor {
  const [head, shown, below, stage, stretched] = decodeCursor(query, text, Place)
  return { head, shown, below, stage, stretched }
}
