import type { HistoryQuery } from '../../../../domain/history.ts'
import { readCursor, writeCursor, type PlaceField } from '../../../../search/cursor.ts'
import { readOne, type Database } from '../../database.ts'

/**
 * Where a page ended. Later pages read the index as far as the first page did, and find the same hits in the same order, whatever
 * is written meanwhile: no event twice, none missed, none that is newer than the first page. An event that changes between two
 * pages counts as new (its result comes in), and a deleted one is left out.
 *
 * Documents are named by their numbers, which tell how much others have stored: the cursor is sealed with a secret of the file.
 */
export interface HistoryPlace {
  /** The newest document that the scope saw when the first page was read. In a cursor, counted from the tenant's first. */
  readonly bound: number
  /** About how many documents the scope saw then: rare words weigh more among many. */
  readonly documents: number
  /** Whether the page ended among the best events, which come in the order of their scores. */
  readonly isRanked: boolean
  /** How many of the best events were shown. */
  readonly shown: number
  /** The last document that was passed, counted like `bound`; 0 for none. */
  readonly passed: number
  /** The time of that document where hits are sorted by time. */
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

/** Writes a cursor of this query. */
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

/** Reads a cursor. Throws `cursor_not_found` for one that no page of this query returned. */
export function readPlace(database: Database, query: HistoryQuery, text: string): HistoryPlace {
  const [bound = 0, code = 0, isRanked, shown = 0, passed = 0, time = 0] = readCursor(
    query,
    text,
    BITS,
    secretOf(database),
  ).map(Number)
  return { bound, documents: countOf(code), isRanked: isRanked === 1, shown, passed, time: time + EARLIEST }
}

/** A count as a cursor keeps it: with a precision of 1 in 256. */
export const roundedCount = (count: number): number => countOf(countCode(count))

/** A mantissa and the power of two that it is multiplied by. */
function countCode(count: number): number {
  let exponent = 0
  while (Math.round(count / 2 ** exponent) >= 2 ** MANTISSA_BITS) exponent++
  return exponent * 2 ** MANTISSA_BITS + Math.round(count / 2 ** exponent)
}

const countOf = (code: number): number => (code % 2 ** MANTISSA_BITS) * 2 ** Math.floor(code / 2 ** MANTISSA_BITS)

/** A rebuild of the index replaces it, since all documents get other numbers. */
const secretOf = (database: Database): string =>
  readOne<{ secret: string }>(database, 'SELECT secret FROM historyCursorSecret')?.secret ?? ''
