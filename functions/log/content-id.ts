import { sha256Bytes } from '../domain/hash.ts'

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/**
 * Returns an id derived from the bytes: equal bytes have equal ids. The id has the form of every other id, but contains
 * no time.
 */
export function idOfContent(bytes: Uint8Array): string {
  const hash = sha256Bytes(bytes).subarray(0, 26)
  return Array.from(hash, (byte, place) => DIGITS[place === 0 ? byte % 8 : byte % 32]).join('')
}
