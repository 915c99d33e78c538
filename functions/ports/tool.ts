import type { Agent } from '../domain/agent.ts'
import type { CallProgress } from '../domain/events.ts'
import type { Json, JsonObject } from '../domain/json.ts'
import type { HistoryEntries, HistoryFilters, HistoryListing } from '../domain/history.ts'
import type { SessionKey } from '../domain/session.ts'
import type { Source } from '../domain/messages/source.ts'

/** If a call reports progress, it may take up to this many times its tool's `timeoutMs`. */
export const MAX_TIMEOUT_FACTOR = 10

export interface ToolContext extends SessionKey {
  readonly runId: string
  readonly agent: string
  readonly toolCallId: string
  /** Aborts on a timeout, a cancel, or the loss of the lease. */
  readonly signal: AbortSignal
  /** The current time, in milliseconds since 1970. */
  now(): number
  /**
   * Reports progress and restarts the call's timeout. The call may take up to `MAX_TIMEOUT_FACTOR` timeouts in total. Followers
   * of the run get `howFar`, at most once a second.
   */
  progressed(howFar?: CallProgress): void
  /** Searches the history within the agent's scope, except the current run. Rejects if the search is unavailable. */
  searchHistory(text: string, filters: HistoryFilters, limit: number, listing?: HistoryListing): Promise<FoundHistory>
  /** The output that `output:<message id>` points to, within the agent's scope; undefined if there is none. */
  readOutput(pointer: string): Promise<ReadableOutput | undefined>
}

interface FoundHistory extends HistoryEntries {
  /**
   * Whether only this session was searched, because it has no owner. With an owner, the agent would search all sessions of this
   * owner.
   */
  readonly lacksOwner?: boolean
}

/** A tool result that can be read, whatever its length. */
export interface ReadableOutput {
  readonly toolName: string
  readonly session: string
  /**
   * The text from its beginning, in chunks of about 100 KB or less. May reject with `output_not_found` or
   * `storage_failed`.
   */
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
 * The output of a tool. `text` is the complete text for the model, in the format `mediaType`. The caller offloads it if it is
 * large. `media` are stored in the output store, and sent to models that accept them. `sources` name the origins of the text;
 * they get numbers for the model. Invalid sources, and those after the 100th, are dropped with a warning.
 */
export interface ToolOutput {
  readonly text: string
  readonly mediaType?: string
  readonly media?: readonly IncomingMedia[]
  readonly sources?: readonly Source[]
  /** The output for programs. It is stored with the result if it fits, and never sent to a model. */
  readonly data?: Json
}

/**
 * A tool that an agent may call. If `execute` rejects, the model gets the error as the result, and the run continues.
 */
export interface Tool {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments, as the model sees it. */
  readonly parameters: JsonObject
  /**
   * Returns the reason why arguments do not match the schema; undefined if they do. This check precedes the request for
   * a person's approval.
   */
  check?(input: Json): string | undefined
  /** Whether an interrupted call may be executed again. */
  readonly idempotent: boolean
  readonly timeoutMs: number
  readonly needsApproval: boolean
  /**
   * Set for a tool that passes on its input as JSON. Its `execute` gets an `ExactNumber` for each number that JavaScript would
   * spell differently (`10.00`, integers beyond 2^53). Other tools only get JavaScript numbers, which are rounded. They should
   * declare ids with more than 15 digits as strings.
   */
  readonly takesExactNumbers?: true
  /** Set if the tool belongs to an MCP server of the agent. A client's tool with this name is then ignored. */
  readonly isOfServer?: true
  /** Executes a call. Rejects with a message for the model if the arguments do not fit the schema. */
  execute(input: Json, context: ToolContext): Promise<ToolOutput>
}

/** Tools by name, in the order in which a model gets them. */
export type Tools = ReadonlyMap<string, Tool>

/** The run that tools are opened for. The run keeps these tools until it ends, even if another process resumes it. */
export interface ToolsOfRun extends SessionKey {
  readonly runId: string
  /**
   * Why the tools are opened. `begins`: for a new run. `continues`: for a run that had them before. `looks`: only to show them,
   * so nothing may be written.
   */
  readonly as: 'begins' | 'continues' | 'looks'
  /** Called with the reason why tools of the agent are absent from this run. */
  absent(detail: string): void
}

/** The source of agents' tools: a list, or a remote server. */
export interface ToolRegistry {
  /**
   * Opens the tools that the agent lists, in the agent's order. They stay open while one holder has the lease. Names of unknown
   * tools are dropped. Without a run, opens the tools that exist at the time of the call.
   */
  open(agent: Agent, run?: ToolsOfRun): Promise<Tools>
}
