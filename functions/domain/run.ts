import type { JsonObject } from './json.ts'
import type { RunErrorCode, UserPart } from './message.ts'
import type { Usage } from './usage.ts'

/** `merged` is internal: a steering input that became a message of `mergedInto`; the API reports that run instead. */
export type RunStatus = 'queued' | 'running' | 'paused' | 'completed' | 'failed' | 'cancelled' | 'merged'
export type RunOutcome = 'completed' | 'failed' | 'cancelled'
export type OnBusy = 'queue' | 'reject' | 'steer'
/** `output_limit`: the provider's limit cut the last completion off. */
export type StopReason = 'answer' | 'output_limit' | 'max_rounds' | 'budget' | 'cancelled' | 'superseded' | 'error'

/** A tool that the caller declares and executes; `parameters` is a JSON Schema. */
export interface ClientTool {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

export interface RunError {
  readonly code: RunErrorCode
  readonly message: string
  readonly retryable: boolean
}

/** What the caller handed in; it waits in the run item until the loop starts it. Absent on `continue`. */
export interface RunInput {
  readonly parts: readonly UserPart[]
  readonly user?: string
  readonly metadata?: JsonObject
}

/** One turn of the loop. Times in milliseconds since 1970. */
export interface Run {
  readonly id: string
  readonly agent: string
  readonly status: RunStatus
  readonly trigger: 'input' | 'continue'
  readonly onBusy: OnBusy
  readonly clientTools: readonly ClientTool[]
  /** Removed when the run starts: from then on the input is a message of the log. */
  readonly input?: RunInput
  /** The API key whose cap on active runs this run counts against. */
  readonly keyId?: string
  readonly mergedInto?: string
  readonly createdAt: number
  readonly startedAt?: number
  readonly endedAt?: number
  /** Rounds stored so far, of the leader. */
  readonly rounds: number
  readonly usage: Usage
  readonly usageByAgent: { readonly [agent: string]: Usage }
  readonly stopReason?: StopReason
  readonly error?: RunError
}

export const isEnded = (status: RunStatus): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled'
