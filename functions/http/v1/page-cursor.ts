import { definedFields } from '../../domain/defined-fields.ts'
import { RequestError } from '../middleware/request-error.ts'

const OLDER = 'older_'

/** The bounds of a page. The page follows the message `after` and precedes the message `before`. */
export interface MessageBounds {
  readonly after?: string
  readonly before?: string
}

/**
 * Writes the cursor of the page that follows a message in this order. The client passes the cursor as `after`. In
 * descending order, the first page's `after` may have been an id that bounds all pages. The cursor replaces this
 * `after`, so the cursor also contains that id.
 */
export const writeMessageCursor = (order: 'asc' | 'desc', id: string, { after }: MessageBounds = {}): string =>
  order === 'asc' ? id : `${OLDER}${id}${after === undefined ? '' : `_${after}`}`

/** Reads the ids that bound a page. */
export function readMessageCursor(after: string | undefined, before: string | undefined): MessageBounds {
  if (after !== undefined && /_[0-9]{1,6}$/.test(after)) throw cursorNotFound()
  if (after?.startsWith(OLDER) !== true) return definedFields({ after, before })
  const [older = '', bound] = after.slice(OLDER.length).split('_')
  return definedFields({ after: bound, before: before !== undefined && before < older ? before : older })
}

/**
 * A position in a log that is read as Chat Completions messages. The log message `id` becomes several Chat Completions
 * messages. The position is after the first `skip` of them.
 */
export interface ChatPosition {
  readonly id: string
  readonly skip: number
}

/** Writes the cursor of the page that starts at this position. */
export const writeChatCursor = ({ id, skip }: ChatPosition): string => `${id}_${skip}`

/** Reads the start of the page with this cursor; undefined without one. */
export function readChatCursor(after: string | undefined): ChatPosition | undefined {
  if (after === undefined) return undefined
  const [id = '', skip] = after.split('_')
  if (skip === undefined || id === OLDER.slice(0, -1)) throw cursorNotFound()
  return { id, skip: Number(skip) }
}

/** The error for a cursor that no page of this list returned. */
export function cursorNotFound(field: 'after' | 'before' = 'after'): RequestError {
  const message = 'is not a cursor of this list: ask for the first page again'
  const detail = `query.${field} ${message}`
  return new RequestError(422, 'cursor_not_found', detail, { errors: [{ path: `query.${field}`, message }] })
}
