/** Numbers in ascending order as ranges, both ends inclusive; adjacent ranges are joined. */
export type NumberRanges = readonly (readonly [from: number, to: number])[]

export const isInRanges = (ranges: NumberRanges, number: number): boolean =>
  ranges.some(([from, to]) => number >= from && number <= to)

/** The ranges that contain exactly these numbers. */
export function rangesOf(numbers: Iterable<number>): NumberRanges {
  return join([...numbers].map((number) => [number, number] as const))
}

/** The union of two sets of ranges. */
export const joinRanges = (one: NumberRanges, other: NumberRanges): NumberRanges => join([...one, ...other])

function join(ranges: NumberRanges): NumberRanges {
  const joined: [number, number][] = []
  for (const [from, to] of ranges.toSorted(([one], [other]) => one - other)) {
    const last = joined.at(-1)
    if (last !== undefined && from <= last[1] + 1) last[1] = Math.max(last[1], to)
    else joined.push([from, to])
  }
  return joined
}

/** Formats ranges for people: `2, 4–6`. */
export const rangesText = (ranges: NumberRanges): string =>
  ranges.map(([from, to]) => (from === to ? String(from) : `${from}–${to}`)).join(', ')
