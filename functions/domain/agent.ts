import type { JsonObject } from './json.ts'
import type { RequestSettings, ResponseFormat, SamplingOptions } from './runs/request-settings.ts'
import type { OnBusy } from './runs/run.ts'

export interface ModelOptions extends SamplingOptions, Pick<RequestSettings, 'stop'> {
  /** Maximum time between two events of a request, in milliseconds. Default: two minutes. */
  readonly timeoutMs?: number
  /** The provider SDK's own options, passed on unchanged: provider name → options. */
  readonly provider?: { readonly [provider: string]: JsonObject }
}

export interface Policies {
  readonly maxRounds: number
  /** Limit of the run's total tokens, checked after each round; null: no limit. */
  readonly maxRunTokens: number | null
  readonly requireTool: null | 'any' | { readonly name: string }
  readonly replay: 'full' | 'conversation'
  /** Size of the model's context, in tokens. Null: the size is derived from the model's name. */
  readonly contextTokens: number | null
  readonly consolidation: false | Consolidation
  /** `cited`: later runs omit sources that the final completion did not cite. */
  readonly sources: 'keep' | 'cited'
  /**
   * `note`: later runs send no bytes of earlier images and files. `reattach`: later runs send the bytes of the newest
   * messages with images or files, up to this number of messages.
   */
  readonly images: 'note' | { readonly reattach: number }
  readonly onBusy: OnBusy
  /** Size of a tool result, in bytes of UTF-8, above which it is offloaded. */
  readonly offloadBytes: number
  /** Code points of the preview that an offloaded result's message keeps. */
  readonly previewChars: number
  readonly searchScope: 'owner' | 'session' | 'tenant'
  /** Days without activity after which a session is deleted; null: never. */
  readonly ttlDays: number | null
  /**
   * The source of titles: the first input, or this model (`provider/model`), which writes a title after the first
   * completed run.
   */
  readonly titles: 'input' | { readonly model: string }
  /** The format of completions without calls, unless the request names another format. */
  readonly responseFormat: ResponseFormat
  /** `accept`: the sampling options of a request apply to its run. */
  readonly requestOptions: 'ignore' | 'accept'
}

/** When and how the older part of the conversation is summarised. */
export interface Consolidation {
  /** Number of conversational messages since the last summary above which a new summary is due. */
  readonly threshold: number
  /** Share of the threshold that is not summarised. 0 keeps one message; 1 keeps all and never consolidates. */
  readonly keepRecentRatio: number
  /** The model for summaries (`provider/model`); by default the agent's. */
  readonly model?: string
  /** Instructions that replace the prompt of `log/summary-prompt.ts`. */
  readonly instructions?: string
}

export const DEFAULT_CONSOLIDATION: Consolidation = { threshold: 100, keepRecentRatio: 0.2 }

/** A server of the Model Context Protocol whose tools an agent may call. */
export interface McpServer {
  readonly name: string
  readonly url: string
  /** Headers of each request; values may contain `${secret:NAME}`. */
  readonly headers: { readonly [name: string]: string }
  /** The server's tools that the agent may call, by their own names; by default all. */
  readonly tools?: readonly string[]
  /** Tools whose calls need a person's approval, by their own names; true: all. */
  readonly needsApproval: true | readonly string[]
  /** Tools that may run again after a crash, besides the tools that declare this themselves. */
  readonly idempotent: readonly string[]
  readonly timeoutMs: number
}

/** A named configuration that runs can use. */
export interface Agent {
  readonly name: string
  /** The model's full name: `provider/model`. */
  readonly model: string
  readonly modelOptions: ModelOptions
  readonly instructions?: string
  /** Names of registered tools. */
  readonly tools: readonly string[]
  /** Set if the agent's entry in the settings lists its tools; otherwise the agent gets all tools. */
  readonly listsTools?: true
  /** MCP servers whose tools the agent may call as well; none by default. */
  readonly mcp?: readonly McpServer[]
  /** Names of the agents that this agent may delegate tasks to; none by default. */
  readonly members?: readonly string[]
  readonly policies: Policies
}

/** Largest `offloadBytes`: a row cannot keep a larger result. */
export const MAX_OFFLOAD_BYTES = 262_144

export const DEFAULT_POLICIES: Policies = {
  maxRounds: 20,
  maxRunTokens: null,
  requireTool: null,
  replay: 'full',
  contextTokens: null,
  consolidation: DEFAULT_CONSOLIDATION,
  sources: 'keep',
  images: 'note',
  onBusy: 'queue',
  offloadBytes: 51_200,
  previewChars: 500,
  searchScope: 'owner',
  ttlDays: null,
  titles: 'input',
  responseFormat: { type: 'text' },
  requestOptions: 'ignore',
}
