/** Prefix of every filter token: a private-use character, which no token of a text has. */
export const MARK = '\uE000'

const HOUR_MS = 3_600_000
/**
 * Levels of time blocks. The lowest is an hour, and each higher one has 32 blocks of the level below: 32 hours, 43
 * days, 3.7 years.
 */
const TIME_LEVELS = 4
const BLOCK = 32

/** A block of time in the index. All documents within it have its token. */
export interface TimeBlock {
  readonly level: number
  readonly place: number
}

const sizeOf = (level: number): number => BLOCK ** level * HOUR_MS
/** Return the first and last millisecond of a block, since 1970. */
export const firstOf = ({ level, place }: TimeBlock): number => place * sizeOf(level)
export const lastOf = ({ level, place }: TimeBlock): number => (place + 1) * sizeOf(level) - 1

/** The largest blocks from 1850 to 2448, oldest first. Lists sorted by time omit documents from outside these years. */
export const LARGEST_BLOCKS: readonly TimeBlock[] = Array.from({ length: 160 }, (_, place) => ({
  level: TIME_LEVELS - 1,
  place: place - 32,
}))

/** Returns the blocks inside a block, oldest first; none for an hour. */
export const innerBlocks = ({ level, place }: TimeBlock): TimeBlock[] =>
  level === 0 ? [] : Array.from({ length: BLOCK }, (_, inner) => ({ level: level - 1, place: place * BLOCK + inner }))

export const blockToken = ({ level, place }: TimeBlock): string => `${MARK}h${level}-${place.toString(36)}`

export const hourOf = (time: number): number => Math.floor(time / HOUR_MS)
const timeToken = (level: number, hour: number): string =>
  blockToken({ level, place: Math.floor(hour / BLOCK ** level) })

/** Returns the tokens of an hour, one per level. */
export const tokensOfHour = (hour: number): string[] =>
  Array.from({ length: TIME_LEVELS }, (_, level) => timeToken(level, hour))

/** Returns the fewest tokens that cover the hours from `since` to `until`; undefined if neither is set. */
export function coveringTokens(since: number | undefined, until: number | undefined): string[] | undefined {
  if (since === undefined && until === undefined) return undefined
  const end = BLOCK ** (TIME_LEVELS - 1) * 64
  let from = Math.min(end, Math.max(0, hourOf(since ?? 0)))
  let to = Math.min(end, Math.max(0, hourOf(until ?? Infinity) + 1))
  const tokens: string[] = []
  for (let level = 0; level < TIME_LEVELS && from < to; level++) {
    const size = BLOCK ** level
    const last = level === TIME_LEVELS - 1
    for (; from < to && (last || from % (size * BLOCK) !== 0); from += size) tokens.push(timeToken(level, from))
    for (; to > from && (last || to % (size * BLOCK) !== 0); to -= size) tokens.push(timeToken(level, to - size))
  }
  return tokens
}
