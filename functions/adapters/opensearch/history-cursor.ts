import { createHash } from 'node:crypto'
import { z } from 'zod'
import { TooltrailError } from '../../domain/errors.ts'
import type { HistoryQuery } from '../../domain/history.ts'
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

const Encoded = z.tuple([
  z.literal(1),
  z.string(),
  z.string().max(10_000),
  z.int().min(0),
  z.string().max(100),
  z.union([z.literal(0), z.literal(1), z.literal(2), z.literal(3)]),
])
const PRINT = 8

/** Writes a cursor of this query. */
export function writeCursor(query: HistoryQuery, { head, shown, below, stage }: HistoryCursor): string {
  const encoded = [1, fingerprint(query), head.join(''), shown, below ?? '', stage]
  return Buffer.from(JSON.stringify(encoded)).toString('base64url')
}

/** Reads a cursor. Throws `invalid_query` for what is no cursor, or one of another query. */
export function readCursor(query: HistoryQuery, text: string): HistoryCursor {
  const parsed = Encoded.safeParse(parseJson(Buffer.from(text, 'base64url').toString('utf8')))
  if (!parsed.success) throw new TooltrailError('invalid_query', 'the cursor is not one that a search has given')
  const [, print, prints, shown, below, stage] = parsed.data
  if (print !== fingerprint(query))
    throw new TooltrailError('invalid_query', 'the cursor belongs to another query: ask for the first page again')
  const head = Array.from({ length: Math.floor(prints.length / PRINT) }, (_, place) =>
    prints.slice(place * PRINT, (place + 1) * PRINT),
  )
  return { head, shown, below: below === '' ? undefined : below, stage }
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
