import type { HistoryQuery } from '../../../../domain/history.ts'
import { readCursor, writeCursor, type PlaceField } from '../../../../search/cursor.ts'
import { readOne, type Database } from '../../database.ts'

/**
 * The position where a page ended. Later pages see the index as it was for the first page: the same hits in the same
 * order, whatever is written later. No event is repeated, skipped, or newer than the first page. An event that changes
 * between two pages (its result arrives) counts as new. A deleted event is omitted.
 *
 * Documents are named by their numbers, which would reveal how much other tenants store. So the cursor is sealed with a
 * secret of the file.
 */
export interface HistoryPlace {
  /**
   * The newest document in the scope when the first page was read. In a cursor, its number is relative to the tenant's
   * first document.
   */
  readonly bound: number
  /**
   * Approximate number of documents in the scope when the first page was read. The more documents there are, the more
   * weight a rare word has.
   */
  readonly documents: number
  /** Whether the page ended among the best events, which are ordered by score. */
  readonly isRanked: boolean
  /** Number of best events that were returned. */
  readonly shown: number
  /** Number of the last document that the pages have passed, relative like `bound`; 0 for none. */
  readonly passed: number
  /** The time of that document, if hits are sorted by time. */
  readonly time: number
}

const NUMBER_BITS = 33
const MANTISSA_BITS = 9
const COUNT_BITS = MANTISSA_BITS + 5
const SHOWN_BITS = 7
const TIME_BITS = 52
const BITS = [NUMBER_BITS, COUNT_BITS, 1, SHOWN_BITS, NUMBER_BITS, TIME_BITS]
/** Times before 1970 are negative. */
const EARLIEST = -(2 ** (TIME_BITS - 1))

/** Returns a cursor of this query. */
export function writePlace(database: Database, query: HistoryQuery, place: HistoryPlace): string {
  const { bound, documents, isRanked, shown, passed, time } = place
  const fields: PlaceField[] = [
    [bound, NUMBER_BITS],
    [countCode(documents), COUNT_BITS],
    [isRanked ? 1 : 0, 1],
    [shown, SHOWN_BITS],
    [passed, NUMBER_BITS],
    [time - EARLIEST, TIME_BITS],
  ]
  return writeCursor(query, fields, secretOf(database))
}

/** Reads a cursor. Throws `cursor_not_found` for a text that no page of this query returned. */
export function readPlace(database: Database, query: HistoryQuery, text: string): HistoryPlace {
  const [bound = 0, code = 0, isRanked, shown = 0, passed = 0, time = 0] = readCursor(
    query,
    text,
    BITS,
    secretOf(database),
  ).map(Number)
  return { bound, documents: countOf(code), isRanked: isRanked === 1, shown, passed, time: time + EARLIEST }
}

/** Rounds a count to the precision of a cursor, 1 in 256. */
export const roundedCount = (count: number): number => countOf(countCode(count))

/** Encodes a count as a mantissa and a power of two. */
function countCode(count: number): number {
  let exponent = 0
  while (Math.round(count / 2 ** exponent) >= 2 ** MANTISSA_BITS) exponent++
  return exponent * 2 ** MANTISSA_BITS + Math.round(count / 2 ** exponent)
}

const countOf = (code: number): number => (code % 2 ** MANTISSA_BITS) * 2 ** Math.floor(code / 2 ** MANTISSA_BITS)

/** Returns the secret of cursors. A rebuild of the index replaces it, because all documents get new numbers. */
const secretOf = (database: Database): string =>
  readOne<{ secret: string }>(database, 'SELECT secret FROM historyCursorSecret')?.secret ?? ''
