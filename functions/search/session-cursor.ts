import { sha256 } from '../domain/hash.ts'
import { TooltrailError } from '../domain/errors.ts'
import type { SessionFilter } from '../domain/session-filter.ts'

/** A cursor has at most 40 characters, the limit of MCP's lists (`docs/reference/mcp.md`). */
const CURSOR = /^s([\w-]{8})([\w.-]{1,31})$/

/**
 * Returns a cursor of this list. It contains a hash of the list's filter and order, and the position where a page
 * ended, in the store's own form.
 */
export function writeSessionCursor(filter: SessionFilter, place: string): string {
  const cursor = `s${hashOfFilter(filter)}${place}`
  if (!CURSOR.test(cursor)) throw new Error(`the place ${place} does not fit into a cursor`)
  return cursor
}

/**
 * Returns the position in the filter's cursor; undefined for the first page. Throws `cursor_not_found` if the text is
 * not a cursor of a list with this filter and order.
 */
export function readSessionCursor(filter: SessionFilter): string | undefined {
  if (filter.after === undefined) return undefined
  const [, filterHash, place] = CURSOR.exec(filter.after) ?? []
  if (place === undefined) throw foreignCursor()
  if (filterHash === hashOfFilter(filter)) return place
  const detail = 'the cursor is from a list with another filter or order: repeat those, or request the first page'
  throw new TooltrailError('cursor_not_found', detail)
}

/** Creates the error for a cursor that no list of sessions returned. */
export const foreignCursor = (): TooltrailError =>
  new TooltrailError(
    'cursor_not_found',
    'the cursor is not from a list of sessions: request the first page without a cursor',
  )

function hashOfFilter({
  limit: _,
  after: __,
  sort = 'last_message_at',
  order = 'desc',
  ...conditions
}: SessionFilter): string {
  const { tenant, owner, agent, runStatus, metadata = [], q, since, until } = conditions
  const fields = metadata.map(({ key, value, isPrefix }) => [key, value, isPrefix])
  const all = [tenant, owner, agent, runStatus, fields, q, sort, order, since, until].map((one) => one ?? null)
  return sha256(JSON.stringify(all), 'base64url').slice(0, 8)
}
