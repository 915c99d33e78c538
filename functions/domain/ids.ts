import { decodeTime, encodeTime, incrementBase32, TIME_LEN, ulid } from 'ulid'

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/
const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/
const TENANT = /^[a-z0-9-]{1,64}$/

export const isUlid = (text: string): boolean => ULID.test(text)
export const isSessionId = (text: string): boolean => SESSION_ID.test(text)
export const isTenant = (text: string): boolean => TENANT.test(text)

/** The time in an id, in milliseconds since 1970. */
export const timeOfId = (id: string): number => decodeTime(id)

/**
 * An id greater than `last`: one of the time `now` (milliseconds), or `last` plus one when the clock that made `last` was
 * ahead of this one. So ids order a log whatever the clocks of its writers do (promises L1).
 */
export function nextId(last: string | undefined, now: number): string {
  const time = encodeTime(now, TIME_LEN)
  if (last !== undefined && last >= time) return incrementBase32(last)
  return time + ulid(now, nextRandom).slice(TIME_LEN)
}

/** Random bytes are fetched many at once: fetched one by one, as `ulid` does, the 16 of an id cost more than a write. */
const pool = new Uint8Array(1_024)
let used = pool.length

/** The next random number, 0 to below 1. */
function nextRandom(): number {
  if (used === pool.length) {
    crypto.getRandomValues(pool)
    used = 0
  }
  return (pool[used++] ?? 0) / 256
}

/** `count` ids in rising order, all greater than `last`. */
export function nextIds(last: string | undefined, now: number, count: number): string[] {
  const ids: string[] = []
  for (let id = nextId(last, now); ids.length < count; id = incrementBase32(id)) ids.push(id)
  return ids
}
