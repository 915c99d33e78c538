import { decodeTime, encodeTime, incrementBase32, TIME_LEN, ulid } from 'ulid'

export const ULID_PATTERN = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/
export const SESSION_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/
/** Suffixes are lower case, so that no two names differ only in case. */
const OBJECT_NAME = startingWithUlid('([._-][a-z0-9]+){0,4}')
const TENANT = /^[a-z0-9-]{1,64}$/

export const isUlid = (text: string): boolean => ULID_PATTERN.test(text)
export const isSessionId = (text: string): boolean => SESSION_PATTERN.test(text)
export const isTenant = (text: string): boolean => TENANT.test(text)

/**
 * Whether a text is a ULID with an optional suffix. Such a name is never a path and needs no escaping in keys or file
 * names.
 */
export const isObjectName = (text: string): boolean => OBJECT_NAME.test(text)

/** Builds a pattern for a ULID followed by `rest`, which is itself written as the source of a pattern. */
export function startingWithUlid(rest: string): RegExp {
  return new RegExp(`${ULID_PATTERN.source.slice(0, -1)}${rest}$`)
}

/** The time in an id, in milliseconds since 1970. */
export const timeOfId = (id: string): number => decodeTime(id)

/** The prefix of all ids of this time. It is greater than every id of an earlier time. */
export const idPrefixAt = (time: number): string => encodeTime(time, TIME_LEN)

/**
 * Creates an id greater than `last`. Its time is `now` (milliseconds). If the clock that made `last` was ahead, the id
 * is `last` plus one. So ids order a log even if the clocks of its writers differ (promises L1).
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
 * Creates an id for a run. The id is greater than `tail`, the last accepted run, and `head`, the last message. Both are
 * compared, because `tail` does not include imported runs. If `head` is greater than `tail`, the id also has a later
 * time than `head`. So the id never equals `head` plus one, which may become the id of a message.
 */
export function nextRunId(tail: string | undefined, head: string | undefined, now: number): string {
  if (head === undefined || (tail !== undefined && head < tail)) return nextId(tail, now)
  return nextId(head, Math.max(now, timeOfId(head) + 1))
}

/**
 * Random bytes are read in bulk. `ulid` would read them one by one, and the 16 bytes of one id would then cost more
 * than a write.
 */
const pool = new Uint8Array(1_024)
let used = pool.length

/** The next random number, at least 0 and below 1. */
function nextRandom(): number {
  if (used === pool.length) {
    crypto.getRandomValues(pool)
    used = 0
  }
  return (pool[used++] ?? 0) / 256
}

/** Creates `count` ids in ascending order, all greater than `last`. */
export function nextIds(last: string | undefined, now: number, count: number): string[] {
  const ids: string[] = []
  for (let id = nextId(last, now); ids.length < count; id = incrementBase32(id)) ids.push(id)
  return ids
}
