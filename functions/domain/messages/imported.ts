import type { Message } from './message.ts'
import type { Run } from '../runs/run.ts'

/** What tells an import from others: a repetition goes on where the one before it stopped. */
export interface ImportName {
  readonly keyHash: string
  /** Of the request's body. Two bodies under one key are a conflict. */
  readonly bodyHash: string
  /** Remembered as long as the session; otherwise for as long as idempotency keys are. */
  readonly forGood: boolean
}

/** How far the imports of one name have come. */
export interface ImportProgress {
  /** Messages stored so far. */
  readonly messages: number
  /** The first of them, the last, and the run that the last belongs to. */
  readonly first: string
  readonly last: string
  readonly run: string
  /** Where they stand, the newest last, if something else has come between them: the ids of the first and the last of each stretch. */
  readonly stretches?: readonly Range[]
}

/** Messages of one import with nothing else between them. */
export interface Range {
  readonly first: string
  readonly last: string
}

/** Beyond that the oldest become one, with what is between them. */
const MAX_RANGES = 16

/** One part of an import. */
export interface ImportStep {
  /**
   * At most 85 with their runs, where a completion that records numbers of sources counts twice, and in about 1 MB unless one round
   * is longer; ids ascending and greater than the log's last and their runs'; no call is open. The numbers follow one another in
   * each completion, and no other source of the session has them.
   */
  readonly messages: readonly Message[]
  /** The runs that they belong to, as they are with these messages. Ids greater than the session's runs have. */
  readonly runs: readonly { readonly run: Run; readonly isNew: boolean }[]
  /** Left out: nothing is remembered, and a repetition is another import. */
  readonly name?: ImportName
  /** What the name had come to before; left out: nothing. */
  readonly before?: ImportProgress
  /** How many of the messages the source has; left out: all. */
  readonly taken?: number
  /** Something else stands between what the name had come to and this step. */
  readonly isApart?: boolean
}

/** What a name has come to with this step. */
export function progressAfter({
  messages,
  before,
  taken = messages.length,
  isApart = false,
}: ImportStep): ImportProgress {
  const [first, last] = [messages[0], messages.at(-1)]
  if (first === undefined || last === undefined) throw new Error('a step of an import has no message')
  const stretches = rangesOf(before)
  const begun = isApart ? undefined : stretches.pop()
  const [oldest, next, ...newer] = [...stretches, { first: begun?.first ?? first.id, last: last.id }]
  const after =
    newer.length >= MAX_RANGES - 1 && oldest !== undefined && next !== undefined
      ? [{ first: oldest.first, last: next.last }, ...newer]
      : [oldest, next, ...newer].filter((one) => one !== undefined)
  return {
    messages: (before?.messages ?? 0) + taken,
    first: before?.first ?? first.id,
    last: last.id,
    run: last.runId,
    ...(after.length > 1 ? { stretches: after } : {}),
  }
}

/** Where the messages of an import stand, the newest last. */
export const rangesOf = (progress: ImportProgress | undefined): Range[] =>
  progress === undefined ? [] : [...(progress.stretches ?? [{ first: progress.first, last: progress.last }])]

/** What is known of the messages of one import. */
export interface AppendOptions {
  readonly name?: ImportName
  /** How many messages of the name come before these. */
  readonly from?: number
  /** Where they come from, as their runs say it. */
  readonly source?: string
}

/** What an import has stored. */
export interface Appended {
  /** Messages stored by this call. */
  readonly messages: number
  readonly first?: string
  readonly last?: string
  /** All that was ever stored under the name. */
  readonly progress?: ImportProgress
}
