import type { HistoryQuery } from '../../domain/history.ts'
import {
  joinFields,
  readCursor,
  splitFields,
  writeCursor,
  FINGERPRINT_CHARACTERS,
  type PlaceField,
} from '../../search/cursor.ts'

/** A position in a list of events. */
export interface ListPlace {
  /** Message of the last event before this position. */
  readonly message: string
  /** Time of the document that placed this event in the list. Used only in lists sorted by time. */
  readonly time: number
}

/**
 * The position where a page ended. Later pages see the index as it was for the first page: the same hits in the same
 * order, whatever is written later. No event is repeated, skipped, or newer than the first page. Deleted events are
 * omitted.
 */
export interface HistoryPlace {
  /**
   * Time after which messages are excluded from all pages. In milliseconds since 1970; a whole second in lists sorted
   * by time.
   */
  readonly bound: number
  /**
   * Fingerprint of the last returned best event, and the number of returned best events. Undefined once all best events
   * were returned.
   */
  readonly ranked?: { readonly print: string; readonly shown: number }
  /** Position in the list of all other events; undefined at its beginning. */
  readonly list?: ListPlace
}

const KINDS = { ranked: 0, start: 1, byEvent: 2, byTime: 3 } as const
const TIME_BITS = 52
const MOMENT_BITS = 48
/** Number of bits of an id, if the id's time is before the year 2109. */
const ID_BITS = 122
const RANKED = [MOMENT_BITS, 7, FINGERPRINT_CHARACTERS * 6]
const BY_EVENT = [MOMENT_BITS, ID_BITS]
const BY_TIME = [32, TIME_BITS, ID_BITS]
const BITS = [2, BY_TIME.reduce((sum, bits) => sum + bits, 0)]
/** Times before 1970 are negative. */
const EARLIEST = -(2 ** (TIME_BITS - 1))
const SECOND_MS = 1_000

/** Returns a cursor of this query. */
export function writePlace(query: HistoryQuery, place: HistoryPlace): string {
  const { kind, bits, values } = fieldsOf(place, query.sort)
  const rest = joinFields(values.map((value, at): PlaceField => [value, bits[at] ?? 0]))
  return writeCursor(
    query,
    [kind, rest].map((value, at): PlaceField => [value, BITS[at] ?? 0]),
  )
}

function fieldsOf(
  { bound, ranked, list }: HistoryPlace,
  sort: HistoryQuery['sort'],
): { readonly kind: number; readonly bits: readonly number[]; readonly values: readonly (number | bigint)[] } {
  if (ranked !== undefined)
    return { kind: KINDS.ranked, bits: RANKED, values: [bound, ranked.shown, fingerprintBits(ranked.print)] }
  if (list === undefined) return { kind: KINDS.start, bits: [MOMENT_BITS], values: [bound] }
  const id = idBits(list.message)
  if (sort === undefined || sort === 'relevance') return { kind: KINDS.byEvent, bits: BY_EVENT, values: [bound, id] }
  const seconds = Math.ceil(bound / SECOND_MS)
  return { kind: KINDS.byTime, bits: BY_TIME, values: [seconds, list.time - EARLIEST, id] }
}

/** Reads a cursor. Throws `cursor_not_found` for a text that no page of this query returned. */
export function readPlace(query: HistoryQuery, text: string): HistoryPlace {
  const [kind, rest = 0n] = readCursor(query, text, BITS)
  switch (Number(kind)) {
    case KINDS.ranked: {
      const [bound, shown, print = 0n] = splitFields(rest, RANKED)
      return { bound: Number(bound), ranked: { print: fingerprintOf(print), shown: Number(shown) } }
    }
    case KINDS.start:
      return { bound: Number(rest) }
    case KINDS.byEvent: {
      const [bound, id = 0n] = splitFields(rest, BY_EVENT)
      return { bound: Number(bound), list: { message: idOf(id), time: 0 } }
    }
    default: {
      const [seconds, time, id = 0n] = splitFields(rest, BY_TIME)
      return { bound: Number(seconds) * SECOND_MS, list: { message: idOf(id), time: Number(time) + EARLIEST } }
    }
  }
}

const fingerprintBits = (print: string): bigint => BigInt(`0x${Buffer.from(print, 'base64url').toString('hex')}`)
const fingerprintOf = (bits: bigint): string =>
  Buffer.from(bits.toString(16).padStart(FINGERPRINT_CHARACTERS * 1.5, '0'), 'hex').toString('base64url')

/** The digits that an id may contain, in ascending order. */
const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const ID_LENGTH = 26

const idBits = (id: string): bigint =>
  Array.from(id).reduce((bits, digit) => bits * 32n + BigInt(DIGITS.indexOf(digit)), 0n)

function idOf(bits: bigint): string {
  const digits: string[] = []
  for (let rest = bits; digits.length < ID_LENGTH; rest >>= 5n) digits.unshift(DIGITS[Number(rest & 31n)] ?? '')
  return digits.join('')
}
