import * as z from 'zod'
import type { HistoryQuery } from '../../../../domain/history.ts'
import type { SessionKey } from '../../../../domain/session.ts'
import { decodeCursor, encodeCursor, messagePrint, PRINT } from '../../../../search/cursor.ts'

/** Letters of a message's id that say its time to a quarter of an hour, but for the first, which is the same until the year 3084. */
const TIME = [1, 6] as const
const NAME = TIME[1] - TIME[0] + PRINT

/** A name of a message that says nothing of its row. Messages of the same time have names that stand together. */
export const cursorName = (key: SessionKey, messageId: string): string =>
  messageId.slice(...TIME) + messagePrint(key, messageId)

/** A place in the order of the documents, by a message that stands there as long as its status is this one. */
export interface Anchor {
  readonly print: string
  /** Empty where the message has none. */
  readonly status: string
}

/**
 * Where a page ended. It carries the order of the best events as the first page found it, so that later pages go on in this
 * order whatever is written meanwhile: no event twice, none missed, none that is newer than the first page. After the best
 * come the others that match, newest first; of these, one that changes between two pages (its result comes in) counts as new.
 * Deleted events are left out.
 *
 * Places are named by messages, never by numbers of rows, which would tell how much others have stored.
 */
export interface HistoryCursor {
  /** Prints of the best events, best first. */
  readonly head: readonly string[]
  /** How many of them were shown. */
  readonly shown: number
  /** The newest messages of the scope when the first page was read: newer messages are not part of the pages. */
  readonly newest: readonly Anchor[]
  /** The last messages that were looked at beyond the best; none before. */
  readonly passed: readonly Anchor[]
  /** The id of the last of them: older ones are left. For when all of them have changed or are gone. */
  readonly passedId: string
  /** Which of the ways to match found the events: the same goes on. */
  readonly stage: number
  /** Whether words were stretched to what they may be a piece or a slip of. */
  readonly stretched: boolean
}

const Anchors = z.array(z.tuple([z.string().length(NAME), z.string().max(20)])).max(10)
const Place = z.tuple([
  z.string().max(10_000),
  z.int().min(0),
  Anchors,
  Anchors,
  z.string().max(100),
  z.int().min(0).max(9),
  z.boolean(),
])

/** Writes a cursor of this query. */
export function writeCursor(query: HistoryQuery, cursor: HistoryCursor): string {
  const { head, shown, newest, passed, passedId, stage, stretched } = cursor
  return encodeCursor(query, [head.join(''), shown, pairs(newest), pairs(passed), passedId, stage, stretched])
}

/** Reads a cursor. Throws `invalid_query` for an invalid cursor, or one of another query. */
export function readCursor(query: HistoryQuery, text: string): HistoryCursor {
  const [prints, shown, newest, passed, passedId, stage, stretched] = decodeCursor(query, text, Place)
  const head = Array.from({ length: Math.floor(prints.length / NAME) }, (_, place) =>
    prints.slice(place * NAME, (place + 1) * NAME),
  )
  return { head, shown, newest: anchors(newest), passed: anchors(passed), passedId, stage, stretched }
}

const pairs = (list: readonly Anchor[]): (readonly [string, string])[] =>
  list.map(({ print, status }) => [print, status])
const anchors = (list: readonly (readonly [string, string])[]): Anchor[] =>
  list.map(([print, status]) => ({ print, status }))
