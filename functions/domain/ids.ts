import { decodeTime, encodeTime, incrementBase32, TIME_LEN, ulid } from 'ulid'

export const ULID_PATTERN = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/
export const SESSION_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/
/** Lower case in suffixes: no two names differ only in case. */
const OBJECT_NAME = startingWithUlid('([._-][a-z0-9]+){0,4}')
const TENANT = /^[a-z0-9-]{1,64}$/

export const isUlid = (text: string): boolean => ULID_PATTERN.test(text)
export const isSessionId = (text: string): boolean => SESSION_PATTERN.test(text)
export const isTenant = (text: string): boolean => TENANT.test(text)

/** A ULID with an optional suffix: never a path, and no character that a key or a file name must escape. */
export const isObjectName = (text: string): boolean => OBJECT_NAME.test(text)

/** What begins with a ULID and goes on with `rest`, the source of a pattern. */
export function startingWithUlid(rest: string): RegExp {
  return new RegExp(`${ULID_PATTERN.source.slice(0, -1)}${rest}$`)
}

/** The time in an id, in milliseconds since 1970. */
export const timeOfId = (id: string): number => decodeTime(id)

/** What ids of this moment begin with: greater than every id of an earlier one. */
export const idPrefixAt = (time: number): string => encodeTime(time, TIME_LEN)

/**
 * An id greater than `last`: it has the time `now` (milliseconds), or is `last` plus one if the clock that made `last`
 * was ahead of this one. So ids order a log whatever its writers' clocks do (promises L1).
 */
export function nextId(last: string | undefined, now: number): string {
  const time = encodeTime(now, TIME_LEN)
  if (last !== undefined && last >= time) return incrementBase32(last)
  return time + ulid(now, nextRandom).slice(TIME_LEN)
}

/** The greatest of these ids; undefined if there is none. */
export const latestId = (ids: readonly (string | undefined)[]): string | undefined =>
  ids
    .filter((id) => id !== undefined)
    .toSorted()
    .at(-1)

/**
 * An id for a run that is greater than the last run's and the last message's: runs of an import are known by their messages
 * alone. Its time is later than the last message's, so that no message whose id counts up from there gets the same.
 */
export function nextRunId(tail: string | undefined, head: string | undefined, now: number): string {
  if (head === undefined || (tail !== undefined && head < tail)) return nextId(tail, now)
  return nextId(head, Math.max(now, timeOfId(head) + 1))
}

/** Random bytes are fetched in bulk: fetched one by one, as `ulid` does, the 16 of an id cost more than a write. */
const pool = new Uint8Array(1_024)
let used = pool.length

/** The next random number, from 0 to below 1. */
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
