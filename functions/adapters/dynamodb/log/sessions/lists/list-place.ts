import { placeAt, hashOf } from '../../../keys.ts'

/** The place where a page ended. */
export interface ListCursor {
  /** For an entry that an earlier version made: the beginning of its place, and the print of its session. */
  readonly place: string
  readonly oldHash?: string
  readonly isSilent: boolean
}

/** Characters of a session's print: a cursor has no room for an id. */
const HASH_CHARACTERS = 12

const shortHash = (session: string): string => hashOf(session).slice(0, HASH_CHARACTERS)

/** The place of a session in a list: by time, then by the print of its id. */
export const listPlace = (time: number, session: string): string => placeAt(time, shortHash(session))

/** The print in a place. Earlier versions made places with whole ids. */
export function hashOfPlace(place: string, isOld: boolean): string {
  const name = place.slice(place.indexOf('#') + 1)
  return isOld ? shortHash(name) : name
}
