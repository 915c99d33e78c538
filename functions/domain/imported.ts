import type { Message } from './message.ts'
import type { Run } from './run.ts'

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
}

/** One part of an import. */
export interface ImportStep {
  /** About 80 with their runs, unless one round is longer, and in about 1 MB; ids ascending and greater than the log's last and their runs'; no call is open. */
  readonly messages: readonly Message[]
  /** The runs that they belong to, as they are with these messages. Ids greater than the session's runs have. */
  readonly runs: readonly { readonly run: Run; readonly isNew: boolean }[]
  /** Left out: nothing is remembered, and a repetition is another import. */
  readonly name?: ImportName
  /** What the name had come to before; left out: nothing. */
  readonly before?: ImportProgress
}

/** What a name has come to with this step. */
export function progressAfter({ messages, before }: ImportStep): ImportProgress {
  const [first, last] = [messages[0], messages.at(-1)]
  if (first === undefined || last === undefined) throw new Error('a step of an import has no message')
  return {
    messages: (before?.messages ?? 0) + messages.length,
    first: before?.first ?? first.id,
    last: last.id,
    run: last.runId,
  }
}

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
