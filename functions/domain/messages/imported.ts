import type { Message } from './message.ts'
import type { Run } from '../runs/run.ts'

/** Identifies an import, so that a repetition continues where the previous attempt stopped. */
export interface ImportName {
  readonly keyHash: string
  /** Hash of the request's body. Two bodies under one key are a conflict. */
  readonly bodyHash: string
  /**
   * Whether the import is remembered as long as the session exists. If false, it is remembered as long as an
   * idempotency key.
   */
  readonly forGood: boolean
}

/** The progress of the imports under one name. */
export interface ImportProgress {
  /** Number of messages stored so far. */
  readonly messages: number
  /** `first` and `last`: the ids of the first and the last stored message. `run`: the run of the last one. */
  readonly first: string
  readonly last: string
  readonly run: string
  /** The ranges of the import's messages, newest last. Set if other messages are between the import's messages. */
  readonly stretches?: readonly Range[]
}

/** Consecutive messages of one import. */
export interface Range {
  readonly first: string
  readonly last: string
}

/**
 * Maximum number of ranges. Above this limit, the oldest ranges are joined. A joined range includes the messages
 * between its parts.
 */
const MAX_RANGES = 16

/** One step of an import. */
export interface ImportStep {
  /**
   * The messages of the step. The number of messages plus the number of runs of a step is at most 85. A completion that
   * records source numbers counts as two messages. The messages have about 1 MB, unless one round is longer. Their ids
   * are ascending, and greater than the log's last id and the ids of their runs. No call is open. The source numbers of
   * each completion are consecutive, and no other source of the session has them.
   */
  readonly messages: readonly Message[]
  /** Set if the first run of the step supersedes stored runs: those from `from` to the end of the log. */
  readonly replaces?: { readonly by: string; readonly from: string }
  /** The runs of the messages, updated for this step. Their ids are greater than those of the session's runs. */
  readonly runs: readonly { readonly run: Run; readonly isNew: boolean }[]
  /** Undefined: no progress is stored, and a repeated request is a new import. */
  readonly name?: ImportName
  /** The progress before this step; undefined if there is none. */
  readonly before?: ImportProgress
  /** Number of the import's own messages among `messages`; by default all. */
  readonly taken?: number
  /** Whether other messages were stored after the earlier progress and before this step. */
  readonly isApart?: boolean
  /**
   * Set if the step is a part of a copy, and further steps follow. Such a step only postpones the expiry of the session
   * that awaits the copy.
   */
  readonly isPartOfCopy?: boolean
}

/** Computes the progress after this step. */
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

/** The ranges of an import's messages, newest last. */
export const rangesOf = (progress: ImportProgress | undefined): Range[] =>
  progress === undefined ? [] : [...(progress.stretches ?? [{ first: progress.first, last: progress.last }])]

/** The options of an import. */
export interface AppendOptions {
  readonly name?: ImportName
  /** Number of messages that were imported under this name before. */
  readonly from?: number
  /** The origin of the messages, stored with their runs. */
  readonly source?: string
  /** Set if the messages are a copy of another session's log, for which the session was created. */
  readonly isCopy?: boolean
  /** Called once, when the options of the import were accepted, and before the first message is stored. */
  readonly begin?: () => Promise<void>
}

/** The result of an import. */
export interface Appended {
  /** Number of messages stored by this call. */
  readonly messages: number
  readonly first?: string
  readonly last?: string
  /** The progress of all imports under the name. */
  readonly progress?: ImportProgress
}
