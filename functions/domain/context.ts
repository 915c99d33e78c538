import type { AssistantMessage } from './messages/message.ts'
import type { NumberRanges } from './messages/number-ranges.ts'
import type { Usage } from './usage/usage.ts'

/** Stands for the conversation up to a message in every later request. */
export interface Summary {
  readonly text: string
  /** The last message that it stands for. */
  readonly through: string
  /** Conversational messages that it stands for, those of former summaries among them. */
  readonly messages: number
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** What making it took; not what the former ones took. */
  readonly usage: Usage
  /** `provider/model`, as the provider named it. */
  readonly model: string
}

/** The oldest messages no longer go out: what is before `from`. */
export interface Cut {
  /** The first message that goes out; a round begins with it. */
  readonly from: string
  /** Inputs of the turn that was under way, which go out although they stand before `from`. */
  readonly kept: readonly string[]
  /** Messages of the log between the summary and `from`, the kept ones among them. */
  readonly messages: number
  /** Those of them that are conversational. */
  readonly conversational: number
}

/** How a weight is turned into tokens: `tokens + rate × (its weight − weight)`. */
export interface Scale {
  readonly weight: number
  readonly tokens: number
  readonly rate: number
}

/** What final completions have cited, by the numbers of sources. A number in none of the first two is undecided. */
export interface Citations {
  readonly cited: NumberRanges
  readonly uncited: NumberRanges
  /** Of the sources that were not cited when their turn ended, those that left later requests, for good. */
  readonly left: NumberRanges
}

/** What policies have decided for the requests of a session. It holds byte for byte until the next decision. */
export interface SessionContext {
  readonly summary?: Summary
  readonly cut?: Cut
  readonly citations?: Citations
  /** Under `images: {reattach}`: the first message whose images and files still go out with their bytes. */
  readonly media?: { readonly from: string }
  /** The log's last message at the last decision, and how large the request was then. */
  readonly decided?: { readonly at: string; readonly scale: Scale }
  /** The same for the requests of members at work, by the row of the delegate call. */
  readonly members?: { readonly [call: string]: Pick<SessionContext, 'cut' | 'decided'> }
}

/** What making a summary took, or trying to. */
export type SummaryWork = Pick<Summary, 'usage' | 'model' | 'createdAt'>

/** The name under which summaries are counted among a run's agents. */
export const SUMMARY_AGENT = 'summary'

/** The name under which titles are counted among a session's agents. */
export const TITLE_AGENT = 'title'

/** A model's work on a summary as totals and the ledger count it. */
export const summaryCompletion = (work: SummaryWork): AssistantMessage => workCompletion(SUMMARY_AGENT, work)

/** A model's work on a title, likewise. */
export const titleCompletion = (work: SummaryWork): AssistantMessage => workCompletion(TITLE_AGENT, work)

/** A completion of no round, which is never stored. */
function workCompletion(agent: string, { usage, model, createdAt }: SummaryWork): AssistantMessage {
  const nobodys = { id: '', runId: '', agent, parentToolCallId: '', round: 0 }
  return { ...nobodys, role: 'assistant', parts: [], toolCalls: [], model, usage, createdAt }
}
