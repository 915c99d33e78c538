import { placeAt, hashOf } from '../../../keys.ts'

/** The position where a page ended. */
export interface ListCursor {
  /**
   * The position of the page's last entry. If an earlier version stored that entry, `place` has only the beginning of
   * the position, and `oldHash` has the hash of the entry's session.
   */
  readonly place: string
  readonly oldHash?: string
  readonly isSilent: boolean
}

/** Characters of a session's hash in a position. A cursor has no space for a session's id. */
const HASH_CHARACTERS = 12

const shortHash = (session: string): string => hashOf(session).slice(0, HASH_CHARACTERS)

/** Returns the position of a session in a list: by time, then by the hash of its id. */
export const listPlace = (time: number, session: string): string => placeAt(time, shortHash(session))

/** Returns the hash in a position. Positions of earlier versions contain whole ids. */
export function hashOfPlace(place: string, isOld: boolean): string {
  const name = place.slice(place.indexOf('#') + 1)
  return isOld ? shortHash(name) : name
}
