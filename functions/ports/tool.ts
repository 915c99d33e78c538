import type { Agent } from '../domain/agent.ts'
import type { CallProgress } from '../domain/events.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import type { HistoryEntries, HistoryFilters, HistoryListing } from '../domain/history.ts'
import type { SessionKey } from '../domain/session.ts'
import type { Source } from '../domain/messages/source.ts'

/** A call that says that it gets on may take so many times its `timeoutMs`. */
export const MAX_TIMEOUT_FACTOR = 10

export interface ToolContext extends SessionKey {
  readonly runId: string
  readonly agent: string
  readonly toolCallId: string
  /** Aborts on timeout, cancel and loss of the lease. */
  readonly signal: AbortSignal
  /** Milliseconds since 1970. */
  now(): number
  /** The call gets on: its time begins anew, up to `MAX_TIMEOUT_FACTOR` as long in all. Followers of the run are told `how far`, once a second at most. */
  progressed(howFar?: CallProgress): void
  /** Searches within the agent's scope, without the current run. Rejects if search is unavailable. */
  searchHistory(text: string, filters: HistoryFilters, limit: number, listing?: HistoryListing): Promise<HistoryEntries>
  /** What stands behind `output:<message id>`, within the agent's scope; undefined when there is none. */
  readOutput(pointer: string): Promise<ReadableOutput | undefined>
}

/** A tool result that can be read, however long it is. */
export interface ReadableOutput {
  readonly toolName: string
  readonly session: string
  /** Its text from the beginning, in pieces of at most some 100 KB; may reject with `output_not_found` or `storage_failed`. */
  readonly pieces: AsyncIterable<string>
}

/** An image or a file with its bytes, not stored yet. */
export interface IncomingMedia {
  readonly type: 'image' | 'file'
  readonly mediaType: string
  readonly filename?: string
  readonly data: Uint8Array
}

/**
 * `text` is what the model sees, whole, of this `mediaType`; the caller offloads it if it is large. `media` go to the
 * output store, and to models that accept them. `sources` say where the text comes from, and are numbered for the model;
 * what is no source, and what comes after the 100th, is left out with a warning.
 */
export interface ToolOutput {
  readonly text: string
  readonly mediaType?: string
  readonly media?: readonly IncomingMedia[]
  readonly sources?: readonly Source[]
  /** The same for programs: kept with the result where it has room, and sent to no model. */
  readonly data?: Json
}

/** Something that an agent may call. If `execute` rejects, the model sees the error as the result; the run goes on. */
export interface Tool {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments, as the model sees it. */
  readonly parameters: JsonObject
  /** Why arguments do not fit, asked before a person is asked to approve the call; undefined if they do. */
  check?(input: Json): string | undefined
  /** A call that was interrupted may be executed again. */
  readonly idempotent: boolean
  readonly timeoutMs: number
  readonly needsApproval: boolean
  /** It belongs to an MCP server of the agent: a client's tool of the same name is ignored. */
  readonly isOfServer?: true
  /** Rejects with a message for the model if the arguments do not fit the schema. */
  execute(input: Json, context: ToolContext): Promise<ToolOutput>
}

/** Tools by name, in the order in which a model gets them. */
export type Tools = ReadonlyMap<string, Tool>

/** The run for which tools are opened: they stay what they were when it began, whoever holds its lease. */
export interface ToolsOfRun extends SessionKey {
  readonly runId: string
  /** `begins`: nobody has opened them before. `looks`: nothing may be written. */
  readonly as: 'begins' | 'continues' | 'looks'
  /** Told why tools that the agent should have are absent from this run. */
  absent(detail: string): void
}

/** Where agents' tools come from: a list, or a remote server. */
export interface ToolRegistry {
  /**
   * The tools that the agent lists, in its order, for as long as one holder has the lease. Names of unknown tools are
   * left out. Without a run: as they are now.
   */
  open(agent: Agent, run?: ToolsOfRun): Promise<Tools>
}
