import type { AssistantMessage } from './messages/message.ts'
import type { NumberRanges } from './messages/number-ranges.ts'
import type { Usage } from './usage/usage.ts'

/** A summary, which replaces the conversation up to a message in every later request. */
export interface Summary {
  readonly text: string
  /** The last message that the summary replaces. */
  readonly through: string
  /** Number of conversational messages that the summary replaces, including those of former summaries. */
  readonly messages: number
  /** Creation time, in milliseconds since 1970. */
  readonly createdAt: number
  /** Usage of the requests that made this summary. Excludes earlier summaries. */
  readonly usage: Usage
  /** `provider/model`, with the provider's own name for the model. */
  readonly model: string
}

/** A truncation: requests omit the messages before `from`. */
export interface Cut {
  /** The first message that requests send; a round begins with it. */
  readonly from: string
  /** Inputs of the current turn, which requests send although they are before `from`. */
  readonly kept: readonly string[]
  /** Number of messages after the summary and before `from`, including the `kept` ones. */
  readonly messages: number
  /** Number of conversational messages after the summary and before `from`. */
  readonly conversational: number
}

/** Estimates tokens from the weight of a request: `tokens + rate × (weight of the request − weight)`. */
export interface Scale {
  readonly weight: number
  readonly tokens: number
  readonly rate: number
}

/**
 * The numbers of the sources that final completions have cited or not cited. A number in neither `cited` nor `uncited`
 * is undecided.
 */
export interface Citations {
  readonly cited: NumberRanges
  readonly uncited: NumberRanges
  /** Sources that were not cited when their turn ended, and that later requests omit permanently. */
  readonly left: NumberRanges
}

/** The steps of a repair, in the order in which they are tried. */
export const REPAIR_STEPS = ['format', 'reasoning', 'names', 'media', 'parts'] as const
export type RepairStep = (typeof REPAIR_STEPS)[number]

/** Messages from one id to another, both included. */
export interface MessageRange {
  readonly from: string
  readonly through: string
}

/** The form of requests to a model that has refused the usual form. */
export interface Repairs {
  readonly steps: readonly RepairStep[]
  /** Messages that are replaced by a note. */
  readonly omitted: readonly MessageRange[]
  /**
   * Set after the model has refused every form of a run's request: the messages that the model had never accepted
   * before.
   */
  readonly refused?: MessageRange
  /**
   * The last trial of repairs. `run`: the run that made the trial. `at`: the log's end at the trial's first step.
   * `before`: the messages omitted before the trial. `added`: the steps that the trial added.
   */
  readonly trial?: {
    readonly run: string
    readonly at: string
    readonly before: readonly MessageRange[]
    readonly added?: readonly RepairStep[]
  }
  /**
   * The last run that sent repaired requests to the model, and the number of these requests, including those of
   * members.
   */
  readonly sent?: { readonly run: string; readonly count: number }
}

/**
 * The trial of a smaller request, after a refusal that may be due to the size. It ends with the next completion of its thread.
 */
export interface CutTrial {
  readonly run: string
  /** The log's end when the trial began. If the cut was undone later, the log's end when it was undone. */
  readonly at: string
  /** The decisions before the trial. Absent if the smaller request was refused too and these decisions were restored. */
  readonly before?: Pick<SessionContext, 'cut' | 'decided'>
}

/**
 * The decisions of policies for the requests of a session. Each request repeats them exactly until the next decision.
 */
export interface SessionContext {
  readonly summary?: Summary
  readonly cut?: Cut
  /** Set while it is uncertain whether the cut helps, and after the cut was undone. */
  readonly trial?: CutTrial
  readonly citations?: Citations
  /** With `images: {reattach}`: the first message whose images and files are still sent with their bytes. */
  readonly media?: { readonly from: string }
  /** Maximum tokens of a request to a model, learned from the model's refusals. The key is the `model` of the agent. */
  readonly limits?: { readonly [model: string]: number }
  /**
   * The form of requests to each model that refused the usual form. The key is `provider/model`. The fields `steps` and
   * `sent` also apply to members; the other fields apply only to the leader.
   */
  readonly repairs?: { readonly [model: string]: Repairs }
  /**
   * The log's last message when a truncation, summary or repair was last decided, and the size of the request at that
   * time.
   */
  readonly decided?: { readonly at: string; readonly scale: Scale }
  /** The decisions for the requests of working members. The key is the id of the delegate call's row. */
  readonly members?: { readonly [call: string]: Pick<SessionContext, 'cut' | 'trial' | 'decided' | 'repairs'> }
}

/**
 * The usage of one summary, of one failed attempt to make a summary, or of another completion that is not stored.
 * `agent`: the agent for which the usage is counted; `SUMMARY_AGENT` by default.
 */
export type SummaryWork = Pick<Summary, 'usage' | 'model' | 'createdAt'> & { readonly agent?: string }

/** The agent name under which the usage of summaries is counted in a run. */
export const SUMMARY_AGENT = 'summary'

/** The agent name under which the usage of titles is counted in a session. */
export const TITLE_AGENT = 'title'

/** Converts a model's work on a summary to a completion, so that totals and the ledger count it. */
export const summaryCompletion = (work: SummaryWork): AssistantMessage =>
  workCompletion(work.agent ?? SUMMARY_AGENT, work)

/** Converts a model's work on a title to a completion, so that totals and the ledger count it. */
export const titleCompletion = (work: SummaryWork): AssistantMessage => workCompletion(TITLE_AGENT, work)

/** A completion that belongs to no round and is never stored. */
function workCompletion(agent: string, { usage, model, createdAt }: SummaryWork): AssistantMessage {
  const nobodys = { id: '', runId: '', agent, parentToolCallId: '', round: 0 }
  return { ...nobodys, role: 'assistant', parts: [], toolCalls: [], model, usage, createdAt }
}
