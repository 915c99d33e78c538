import { RequestError } from '../middleware/request-error.ts'

const OLDER = 'older_'

/** The cursor of the page that follows a message in this order; it always goes into `after`. */
export const writeMessageCursor = (order: 'asc' | 'desc', id: string): string =>
  order === 'asc' ? id : `${OLDER}${id}`

/** The ids that bound a page. */
export function readMessageCursor(
  after: string | undefined,
  before: string | undefined,
): { after?: string; before?: string } {
  if (after !== undefined && /_[0-9]+$/.test(after)) throw cursorNotFound()
  if (after?.startsWith(OLDER) === true) {
    const older = after.slice(OLDER.length)
    return { before: before !== undefined && before < older ? before : older }
  }
  return { ...(after === undefined ? {} : { after }), ...(before === undefined ? {} : { before }) }
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
export const cursorNotFound = (): RequestError =>
  new RequestError(400, 'cursor_not_found', 'this cursor is not one of this list: ask for the first page again')
