import { fitting } from '../../../log/page-bytes.ts'
import { invalidRequest } from '../../middleware/validation.ts'
import type { ShownItem } from './conversation-items.ts'
import type { ItemList, ItemQuery } from './conversation-schemas.ts'

/** Returns a page of `items`. `items` must be the complete list, oldest first. Rejects an unknown `after`. */
export function pageOf(items: readonly ShownItem[], { after, limit, order }: ItemQuery): ItemList {
  const ordered = order === 'asc' ? items : items.toReversed()
  const at = ordered.findIndex(({ id }) => id === after)
  if (after !== undefined && at === -1) throw unknownCursor()
  const rest = ordered.slice(at + 1)
  return listOf(rest.slice(0, limit), rest.length > limit)
}

/** Converts items to a list. If some do not fit into a page, omits them and sets `has_more`. */
export function listOf(items: readonly ShownItem[], more: boolean): ItemList {
  const data = fitting(items)
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: more || data.length < items.length,
  }
}

export const unknownCursor = (): Error =>
  invalidRequest([{ path: 'query.after', message: 'is not an item of this list' }])
