/** ULIDs: 26 characters of Crockford's base 32, 10 of time (milliseconds) and 16 of randomness or count. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const TIME_LENGTH = 10
const RANDOM_LENGTH = 16
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/
const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/
const TENANT = /^[a-z0-9-]{1,64}$/

export const isUlid = (text: string): boolean => ULID.test(text)
export const isSessionId = (text: string): boolean => SESSION_ID.test(text)
export const isTenant = (text: string): boolean => TENANT.test(text)

/** The time in an id, in milliseconds since 1970. */
export function timeOfId(id: string): number {
  let time = 0
  for (const character of id.slice(0, TIME_LENGTH)) time = time * 32 + ALPHABET.indexOf(character)
  return time
}

/**
 * An id greater than `last`: one of the time `now` (milliseconds), or `last` plus one where the clock that made `last` was
 * ahead of this one. So ids order a log whatever the clocks of its writers do (spec L1).
 */
export function nextId(last: string | undefined, now: number): string {
  if (last !== undefined && timeOfId(last) >= now) return increment(last)
  return encodeTime(now) + randomPart()
}

/** `count` ids in rising order, all greater than `last`. */
export function nextIds(last: string | undefined, now: number, count: number): string[] {
  const ids: string[] = []
  for (let previous = last; ids.length < count;) ids.push((previous = nextId(previous, now)))
  return ids
}

function encodeTime(milliseconds: number): string {
  let text = ''
  for (let rest = Math.floor(milliseconds); text.length < TIME_LENGTH; rest = Math.floor(rest / 32))
    text = ALPHABET.charAt(rest % 32) + text
  return text
}

/** The first random digit stays below 16, so that a batch can count up without touching the time. */
function randomPart(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(RANDOM_LENGTH))
  bytes[0] = (bytes[0] ?? 0) & 15
  return Array.from(bytes, (byte) => ALPHABET.charAt(byte & 31)).join('')
}

function increment(id: string): string {
  const digits = [...id]
  for (let place = digits.length - 1; place >= 0; place--) {
    const digit = ALPHABET.indexOf(digits[place] ?? '')
    digits[place] = ALPHABET.charAt((digit + 1) % 32)
    if (digit < 31) return digits.join('')
  }
  throw new RangeError(`no id is greater than ${id}`)
}
