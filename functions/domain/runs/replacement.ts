import type { MessageRange } from '../context.ts'

/**
 * The decision of an input to replace earlier runs. The run `by` supersedes all runs from `from` to the last run that
 * was accepted before `by`. Requests omit the messages of superseded runs; the log keeps them.
 */
export interface Replacement {
  /** Id of the run whose input replaces the earlier runs. */
  readonly by: string
  /** Id of the first run that is replaced. */
  readonly from: string
  /**
   * The messages of the replaced runs. They were the last ones in the log when `by` was accepted. Undefined if there
   * were none.
   */
  readonly messages?: MessageRange
}

/** Bounds of message ids, both exclusive. */
export interface IdBounds {
  readonly after?: string
  readonly before?: string
}

/**
 * Returns the id of the first run that superseded this run; undefined if there is none. `replacements` are sorted by
 * the ids of their runs, as a store returns them.
 */
export const supersededBy = (replacements: readonly Replacement[], runId: string): string | undefined =>
  replacements.find(({ by, from }) => from <= runId && runId < by)?.by

/** Returns the ranges of all superseded messages, ascending. No two ranges overlap. */
export function supersededRanges(replacements: readonly Replacement[]): MessageRange[] {
  const ranges: MessageRange[] = []
  // Each range reaches the end of the log at the time of its replacement, so a later range ends after all earlier ones.
  for (const { messages } of replacements) {
    if (messages === undefined) continue
    let { from } = messages
    for (let last = ranges.at(-1); last !== undefined && last.through >= from; last = ranges.at(-1)) {
      if (last.from < from) ({ from } = last)
      ranges.pop()
    }
    ranges.push({ from, through: messages.through })
  }
  return ranges
}

/** Whether one of the ranges contains this message. */
export const isInRanges = (ranges: readonly MessageRange[], id: string): boolean =>
  ranges.some(({ from, through }) => from <= id && id <= through)

/** Returns the parts of the bounds that are outside of the ranges, ascending. */
export function boundsOutside(ranges: readonly MessageRange[], { after, before }: IdBounds): IdBounds[] {
  const outside: IdBounds[] = []
  let start = after
  for (const { from, through } of ranges) {
    if (start !== undefined && through <= start) continue
    if (before !== undefined && from >= before) break
    if (start === undefined || start < from) outside.push(boundsOf(start, from))
    start = through
  }
  if (before === undefined || start === undefined || start < before) outside.push(boundsOf(start, before))
  return outside
}

const boundsOf = (after: string | undefined, before: string | undefined): IdBounds => ({
  ...(after === undefined ? {} : { after }),
  ...(before === undefined ? {} : { before }),
})
