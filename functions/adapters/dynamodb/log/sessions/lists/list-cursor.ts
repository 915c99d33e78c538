import type { SessionFilter } from '../../../../../domain/session-filter.ts'
import { foreignCursor, readSessionCursor, writeSessionCursor } from '../../../../../search/session-cursor.ts'
import { placeAt, timeOfPlace } from '../../../keys.ts'
import { hashOfPlace, type ListCursor } from './list-place.ts'

/** Fields of a cursor: the entry's kind (with messages, silent, or old), its time, and the hash of its session. */
const PLACE = /^([mso])([0-9a-z]{1,10})\.([\w-]{12})$/

/** Returns the cursor of this entry in the filter's list. */
export function writeListCursor(
  filter: SessionFilter,
  { at, isSilent, isOld }: { readonly at: string; readonly isSilent: boolean; readonly isOld: boolean },
): string {
  const kind = isOld ? 'o' : isSilent ? 's' : 'm'
  return writeSessionCursor(filter, `${kind}${timeOfPlace(at).toString(36)}.${hashOfPlace(at, isOld)}`)
}

/**
 * Reads the filter's cursor; undefined for the first page. Throws `cursor_not_found` for the cursor of another list.
 */
export function readListCursor(filter: SessionFilter): ListCursor | undefined {
  const text = readSessionCursor(filter)
  if (text === undefined) return undefined
  const [, kind, time = '', hash = ''] = PLACE.exec(text) ?? []
  if (kind === undefined) throw foreignCursor()
  const at = parseInt(time, 36)
  if (kind === 'o') return { place: placeAt(at, ''), oldHash: hash, isSilent: false }
  return { place: placeAt(at, hash), isSilent: kind === 's' }
}
