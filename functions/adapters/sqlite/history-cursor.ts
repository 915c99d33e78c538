import { createHash } from 'node:crypto'
import { z } from 'zod'
import { TooltrailError } from '../../domain/errors.ts'
import type { HistoryQuery } from '../../domain/history.ts'

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

const Encoded = z.tuple([
  z.literal(1),
  z.string(),
  z.array(z.int().min(1)).max(1_000),
  z.int().min(0),
  z.int().min(0),
  z.int().min(0).max(9),
  z.boolean(),
])

/** Writes a cursor of this query. */
export function writeCursor(query: HistoryQuery, { head, shown, below, stage, stretched }: HistoryCursor): string {
  return Buffer.from(JSON.stringify([1, fingerprint(query), head, shown, below, stage, stretched])).toString(
    'base64url',
  )
}

/** Reads a cursor. Throws `invalid_query` for what is no cursor, or one of another query. */
export function readCursor(query: HistoryQuery, text: string): HistoryCursor {
  const parsed = Encoded.safeParse(parseJson(Buffer.from(text, 'base64url').toString('utf8')))
  if (!parsed.success) throw new TooltrailError('invalid_query', 'the cursor is not one that a search has given')
  const [, print, head, shown, below, stage, stretched] = parsed.data
  if (print !== fingerprint(query))
    throw new TooltrailError('invalid_query', 'the cursor belongs to another query: ask for the first page again')
  return { head, shown, below, stage, stretched }
}

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
  ]
  return createHash('sha256').update(JSON.stringify(fields)).digest('base64url').slice(0, 12)
}
