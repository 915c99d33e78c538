import { hash } from 'node:crypto'
import * as z from 'zod'
import { TooltrailError } from '../domain/errors.ts'
import type { HistoryQuery } from '../domain/history.ts'
import type { SessionKey } from '../domain/session.ts'

const Encoded = z.tuple([z.literal(1), z.string(), z.unknown()])

/** A cursor that says where a page of this query ended, valid for this query only. `place`: any JSON value. */
export const encodeCursor = (query: HistoryQuery, place: unknown): string =>
  Buffer.from(JSON.stringify([1, fingerprint(query), place])).toString('base64url')

/** The place in the cursor. Throws `invalid_query` for a text that is no cursor, or a cursor of another query. */
export function decodeCursor<Place>(query: HistoryQuery, text: string, placeSchema: z.ZodType<Place>): Place {
  const encoded = Encoded.safeParse(parseJson(Buffer.from(text, 'base64url').toString('utf8')))
  const place = encoded.success ? placeSchema.safeParse(encoded.data[2]) : undefined
  if (!encoded.success || place?.success !== true)
    throw new TooltrailError('invalid_query', 'the cursor does not come from a search')
  if (encoded.data[1] !== fingerprint(query))
    throw new TooltrailError('invalid_query', 'the cursor belongs to another query: ask for the first page again')
  return place.data
}

/**
 * A short global name of a message, for cursors and ids. 48 bits are enough to tell apart messages of different
 * sessions that have the same id, since ids are random.
 */
export const messagePrint = ({ tenant, session }: SessionKey, messageId: string): string =>
  hash('sha256', JSON.stringify([tenant, session, messageId]), 'base64url').slice(0, PRINT)

/** Letters of a print. */
export const PRINT = 8

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function fingerprint({ scope, text, filters }: HistoryQuery): string {
  const fields = [
    [scope.tenant, scope.owner, scope.session],
    text,
    [filters.role, filters.tool, filters.status, filters.session, filters.owner, filters.agent],
    [filters.since, filters.until, filters.notRun],
    ...(filters.feedback === undefined ? [] : [filters.feedback]),
  ]
  return hash('sha256', JSON.stringify(fields), 'base64url').slice(0, 12)
}
