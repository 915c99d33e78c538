import { definedFields } from '../../domain/defined-fields.ts'
import { RequestError } from '../middleware/request-error.ts'

const OLDER = 'older_'

/** Where a page lies, by the ids of messages: after one, before another. */
export interface MessageBounds {
  readonly after?: string
  readonly before?: string
}

/**
 * The cursor of the page that follows a message in this order; it always goes into `after`. In descending order it takes the place
 * of the id that bounds all pages, and carries it.
 */
export const writeMessageCursor = (order: 'asc' | 'desc', id: string, { after }: MessageBounds = {}): string =>
  order === 'asc' ? id : `${OLDER}${id}${after === undefined ? '' : `_${after}`}`

/** The ids that bound a page. */
export function readMessageCursor(after: string | undefined, before: string | undefined): MessageBounds {
  if (after !== undefined && /_[0-9]{1,6}$/.test(after)) throw cursorNotFound()
  if (after?.startsWith(OLDER) !== true) return definedFields({ after, before })
  const [older = '', bound] = after.slice(OLDER.length).split('_')
  return definedFields({ after: bound, before: before !== undefined && before < older ? before : older })
}

/** A place in a log as Chat Completions messages: after the first `skip` of those that log message `id` becomes. */
export interface ChatPosition {
  readonly id: string
  readonly skip: number
}

/** The cursor of the page that begins there. */
export const writeChatCursor = ({ id, skip }: ChatPosition): string => `${id}_${skip}`

/** Where the page of this cursor begins; undefined without one. */
export function readChatCursor(after: string | undefined): ChatPosition | undefined {
  if (after === undefined) return undefined
  const [id = '', skip] = after.split('_')
  if (skip === undefined || id === OLDER.slice(0, -1)) throw cursorNotFound()
  return { id, skip: Number(skip) }
}

/** The refusal of a cursor that no page of this list returned. */
export function cursorNotFound(field: 'after' | 'before' = 'after'): RequestError {
  const message = 'is not a cursor of this list: ask for the first page again'
  const detail = `query.${field} ${message}`
  return new RequestError(422, 'cursor_not_found', detail, { errors: [{ path: `query.${field}`, message }] })
}
