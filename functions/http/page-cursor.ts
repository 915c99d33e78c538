import { RequestError } from './request-error.ts'

const OLDER = 'older_'
const POSITION = /^0{16}[0-9]{10}$/

/** The cursor of the page that follows a message in this order; it always goes into `after`. */
export const writeMessageCursor = (order: 'asc' | 'desc', id: string): string =>
  order === 'asc' ? id : `${OLDER}${id}`

/** The ids between which a page lies. */
export function readMessageCursor(
  after: string | undefined,
  before: string | undefined,
): { after?: string; before?: string } {
  if (after?.startsWith(OLDER) === true) {
    const older = after.slice(OLDER.length)
    return { before: before !== undefined && before < older ? before : older }
  }
  return { ...(after === undefined ? {} : { after }), ...(before === undefined ? {} : { before }) }
}

/** A position in a list without ids, in the same 26 characters as an id. */
export const writePositionCursor = (position: number): string => String(position).padStart(26, '0')

/** The position that a cursor stands for; 0 without one. */
export function readPositionCursor(after: string | undefined): number {
  if (after === undefined) return 0
  if (!POSITION.test(after)) throw new RequestError(404, 'cursor_not_found', 'this cursor is not one of this list')
  return Number(after)
}
