import type { JsonObject } from '../json.ts'
import type { ParentNames, RunErrorCode, UserPart } from '../messages/message.ts'
import type { Usage } from '../usage/usage.ts'
import type { EventPosition } from './event-position.ts'
import type { RunSettings } from './request-settings.ts'

/**
 * `merged` is internal: the run's input steered another run, and became a message of that run (`mergedInto`). The API
 * reports that run instead.
 */
export type RunStatus = 'queued' | 'running' | 'paused' | 'completed' | 'failed' | 'cancelled' | 'merged'
export type RunOutcome = 'completed' | 'failed' | 'cancelled'
export type OnBusy = 'queue' | 'reject' | 'steer'
/** `output_limit`: the provider's limit truncated the last completion. `imported`: the turn was executed elsewhere. */
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
 * A tool that the caller declares and executes; `parameters` is a JSON Schema. `strict`: calls with arguments that do
 * not fit the schema never reach the caller. `namespace`: the caller's namespace of the tool. `name` begins with the
 * namespace.
 */
export interface ClientTool {
  readonly name: string
  readonly namespace?: string
  readonly description: string
  readonly parameters: JsonObject
  readonly strict?: boolean | undefined
}

export interface RunError {
  readonly code: RunErrorCode
  readonly message: string
  readonly retryable: boolean
}

/** The caller's input. It is stored in the run item until the run starts. Absent for `continue`. */
export interface RunInput {
  readonly parts: readonly UserPart[]
  readonly user?: string
  readonly metadata?: JsonObject
}

/** An unusual event that did not stop the run. */
export type WarningCode =
  | 'summary_failed'
  | 'sources_unavailable'
  | 'sources_dropped'
  | 'media_unavailable'
  | 'mcp_unavailable'
  | 'client_tool_ignored'
  | 'server_tool_replaced'
  | 'context_reduced'
  | 'request_repaired'
  | 'arguments_unchecked'
  | 'output_not_of_schema'
  | 'output_unchecked'
  | 'unknown_frames'

/** The counts of a run. */
export type RunCounts = Pick<Run, 'rounds' | 'usage' | 'usageByAgent'>

/**
 * A notice for the run's followers, besides the run's messages. A team member's notice names its delegate call in the
 * same fields as the member's events. `after` is the last message of the log when the notice was stored.
 *
 * A pause names its waiting calls and the message that requested the first of them. The notices `run.paused` and
 * `run.resumed` name the generation of the holder that stored them. `calls.resolved` is not an event: it stores the
 * position of the end events of calls that clients resolved during the run.
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

/** One turn of the conversation, executed by the loop. Times are in milliseconds since 1970. */
export interface Run {
  readonly id: string
  readonly agent: string
  readonly status: RunStatus
  readonly trigger: 'input' | 'continue'
  readonly onBusy: OnBusy
  readonly clientTools: readonly ClientTool[]
  /** Replaces the session's instructions during this run. */
  readonly instructions?: string
  /** The format, tool choice and options of the run's requests. */
  readonly settings?: RunSettings
  /** Removed when the run starts, because the input is then a message of the log. */
  readonly input?: RunInput
  /** The API key whose cap on active runs includes this run. */
  readonly keyId?: string
  /** The channel of the run's delivery. The delivery has the run's id. */
  readonly delivery?: string
  readonly mergedInto?: string
  /** The id of the message that the input of a merged run became. Absent in runs of earlier versions. */
  readonly mergedAs?: string
  readonly createdAt: number
  readonly startedAt?: number
  readonly endedAt?: number
  /** The generation of the lease with which the run started. Absent in imported runs, and in runs of earlier versions. */
  readonly startGeneration?: number
  /** Number of the leader's rounds stored so far. */
  readonly rounds: number
  readonly usage: Usage
  readonly usageByAgent: { readonly [agent: string]: Usage }
  readonly stopReason?: StopReason
  /** The origin of an imported turn, as its importer names it. */
  readonly source?: string
  /** For a superseded run of an import: its id in the original log, by which a resumed import finds it. */
  readonly original?: string
  readonly error?: RunError
  /** The JSON text of the final completion of a completed run, if it fits the format in `settings`. */
  readonly output?: string
  /** Notices in the order in which they were stored. */
  readonly notices?: readonly RunNotice[]
  /** Number of policy decisions recorded during the run. */
  readonly decisions?: number
}

export const isEnded = (status: RunStatus): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled'
