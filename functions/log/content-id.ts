import { sha256Bytes } from '../domain/hash.ts'

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** An id that the same bytes always have, and no others: of the form of all ids, and of no time. */
export function idOfContent(bytes: Uint8Array): string {
  const hash = sha256Bytes(bytes).subarray(0, 26)
  return Array.from(hash, (byte, place) => DIGITS[place === 0 ? byte % 8 : byte % 32]).join('')
}
