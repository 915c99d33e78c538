import { sha256 } from '../../domain/hash.ts'

/** What every provider takes as the name of a tool. */
const MAX_NAME_CHARACTERS = 64
const FITS = new RegExp(`^[A-Za-z0-9_-]{1,${MAX_NAME_CHARACTERS}}$`)
const HASH = 8

/**
 * The name under which a model gets a server's tool: `server__tool`. One that is too long, has other characters, or is taken is
 * cut, and ends in a hash of the whole, so that the same tool always has the same name.
 */
export function modelName(server: string, tool: string, isTaken: (name: string) => boolean): string {
  const whole = `${server}__${tool}`
  if (FITS.test(whole) && !isTaken(whole)) return whole
  const hash = sha256(whole).slice(0, HASH)
  const kept = whole.replaceAll(/[^A-Za-z0-9_-]/gu, '_').slice(0, MAX_NAME_CHARACTERS - HASH - 1)
  return `${kept}_${hash}`
}
