import type { Agent } from '../domain/agent.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import type { HistoryEntries, HistoryFilters } from '../domain/history.ts'
import type { SessionKey } from '../domain/session.ts'

export interface ToolContext extends SessionKey {
  readonly runId: string
  readonly agent: string
  readonly toolCallId: string
  /** Aborts on timeout, cancel and loss of the lease. */
  readonly signal: AbortSignal
  /** Milliseconds since 1970. */
  now(): number
  /** Searches within the agent's scope, without the current run. Rejects when search is unavailable. */
  searchHistory(text: string, filters: HistoryFilters, limit: number): Promise<HistoryEntries>
  /** The whole text behind `output:<message id>`, within the agent's scope; undefined when there is none. */
  readOutput(pointer: string): Promise<{ text: string; toolName: string; session: string } | undefined>
}

/** An image or a file with its bytes, before it is stored. */
export interface IncomingMedia {
  readonly type: 'image' | 'file'
  readonly mediaType: string
  readonly filename?: string
  readonly data: Uint8Array
}

/**
 * `text` is what the model sees, whole, of this `mediaType`; the caller offloads it when it is large. `media` go to the output
 * store, and to models that can be sent them.
 */
export interface ToolOutput {
  readonly text: string
  readonly mediaType?: string
  readonly media?: readonly IncomingMedia[]
}

/** Something that an agent may call. A rejection of `execute` is a result that the model sees, never the end of a run. */
export interface Tool {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments, as the model sees it. */
  readonly parameters: JsonObject
  /** A call that was cut off may be executed again. */
  readonly idempotent: boolean
  readonly timeoutMs: number
  readonly needsApproval: boolean
  /** Rejects with a message for the model when the arguments do not fit the schema. */
  execute(input: Json, context: ToolContext): Promise<ToolOutput>
}

/** Tools by name, in the order in which a model is told of them. */
export type Tools = ReadonlyMap<string, Tool>

/** Where the tools of agents come from: a list, or a server that has to be asked. */
export interface ToolRegistry {
  /** The tools that the agent lists, in its order, for one holding of a lease; names that stand for no tool are left out. */
  open(agent: Agent): Promise<Tools>
}
