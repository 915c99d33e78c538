import type { JsonObject } from '../json.ts'
import type { ParentNames, RunErrorCode, UserPart } from '../messages/message.ts'
import type { Usage } from '../usage/usage.ts'
import type { EventPosition } from './event-position.ts'

/** `merged` is internal: a steering input that became a message of `mergedInto`; the API reports that run instead. */
export type RunStatus = 'queued' | 'running' | 'paused' | 'completed' | 'failed' | 'cancelled' | 'merged'
export type RunOutcome = 'completed' | 'failed' | 'cancelled'
export type OnBusy = 'queue' | 'reject' | 'steer'
/** `output_limit`: the provider's limit cut off the last completion. `imported`: the turn was executed elsewhere. */
export type StopReason =
  | 'answer'
  | 'output_limit'
  | 'max_rounds'
  | 'budget'
  | 'cancelled'
  | 'superseded'
  | 'error'
  | 'imported'

/**
 * A tool that the caller declares and executes; `parameters` is a JSON Schema. `strict`: calls whose arguments do not fit it
 * never reach the caller.
 */
export interface ClientTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
  readonly strict?: boolean | undefined
}

export interface RunError {
  readonly code: RunErrorCode
  readonly message: string
  readonly retryable: boolean
}

/** What the caller sent. It waits in the run item until the loop starts the run. Absent on `continue`. */
export interface RunInput {
  readonly parts: readonly UserPart[]
  readonly user?: string
  readonly metadata?: JsonObject
}

/** Something that was not as usual, and the run went on. */
export type WarningCode =
  | 'summary_failed'
  | 'sources_unavailable'
  | 'sources_dropped'
  | 'media_unavailable'
  | 'mcp_unavailable'
  | 'client_tool_ignored'
  | 'server_tool_replaced'
  | 'context_reduced'
  | 'arguments_unchecked'

/** What a run has counted. */
export type RunCounts = Pick<Run, 'rounds' | 'usage' | 'usageByAgent'>

/**
 * What a run's followers are told beside its messages, a team member named as in its events. `after`: the log's last message then. A
 * pause names its calls that wait, and the message that asked for the first of them. A pause and its end name the generation of the
 * holder that stored them. `calls.resolved` has no event of its own: it gives the ends of calls that clients resolved during the run
 * their place.
 */
export type RunNotice = ParentNames & {
  readonly after: string
  readonly agent?: string
  readonly position?: EventPosition
} & (
    | {
        readonly type: 'run.paused'
        readonly asked: string
        readonly calls: readonly string[]
        readonly counts: RunCounts
        readonly generation?: number
      }
    | {
        readonly type: 'run.resumed'
        readonly counts: RunCounts
        readonly generation?: number
      }
    | { readonly type: 'calls.resolved'; readonly calls: readonly string[] }
    | { readonly type: 'warning'; readonly code: WarningCode; readonly detail: string }
    | { readonly type: 'context.nearly_full'; readonly messages: number; readonly threshold: number }
    | { readonly type: 'context.consolidated'; readonly through: string; readonly messages: number }
  )

/** One turn of the loop. Times in milliseconds since 1970. */
export interface Run {
  readonly id: string
  readonly agent: string
  readonly status: RunStatus
  readonly trigger: 'input' | 'continue'
  readonly onBusy: OnBusy
  readonly clientTools: readonly ClientTool[]
  /** Stand in for the session's during this run. */
  readonly instructions?: string
  /** Removed when the run starts: from then on the input is a message of the log. */
  readonly input?: RunInput
  /** The API key whose cap on active runs counts this run. */
  readonly keyId?: string
  /** The channel that it owes a delivery, which has the run's id. */
  readonly delivery?: string
  readonly mergedInto?: string
  readonly createdAt: number
  readonly startedAt?: number
  readonly endedAt?: number
  /** Rounds stored so far, of the leader. */
  readonly rounds: number
  readonly usage: Usage
  readonly usageByAgent: { readonly [agent: string]: Usage }
  readonly stopReason?: StopReason
  /** Where an imported turn comes from, in its importer's words. */
  readonly source?: string
  readonly error?: RunError
  /** In the order in which they came; left out: none. */
  readonly notices?: readonly RunNotice[]
  /** Decisions of policies that were recorded during it; left out: none. */
  readonly decisions?: number
}

export const isEnded = (status: RunStatus): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled'
