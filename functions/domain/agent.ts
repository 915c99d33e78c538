import type { JsonObject } from './json.ts'
import type { OnBusy } from './runs/run.ts'

export interface ModelOptions {
  readonly temperature?: number
  readonly maxOutputTokens?: number
  /** Milliseconds without any event after which a request has failed. Default: two minutes. */
  readonly timeoutMs?: number
  /** Sent as the provider package's own options: provider name → options. */
  readonly provider?: { readonly [provider: string]: JsonObject }
}

export interface Policies {
  readonly maxRounds: number
  /** Total tokens of the run, counted after each round; null: no limit. */
  readonly maxRunTokens: number | null
  readonly requireTool: null | 'any' | { readonly name: string }
  readonly replay: 'full' | 'conversation'
  /** Tokens that the model's context holds; null: by the model's name. */
  readonly contextTokens: number | null
  readonly consolidation: false | Consolidation
  /** `cited`: sources that the final completion does not cite leave the requests of later runs. */
  readonly sources: 'keep' | 'cited'
  /** Of the newest so many messages with images or files, the bytes go out in later runs, too; `note`: of none. */
  readonly images: 'note' | { readonly reattach: number }
  readonly onBusy: OnBusy
  /** Bytes of UTF-8 above which a tool result is offloaded. */
  readonly offloadBytes: number
  /** Code points of an offloaded result that its message keeps. */
  readonly previewChars: number
  readonly searchScope: 'owner' | 'session' | 'tenant'
  /** Days without activity after which a session is deleted; null: never. */
  readonly ttlDays: number | null
  /** Where titles come from: the first input, or this model (`provider/model`) after the first completed run. */
  readonly titles: 'input' | { readonly model: string }
}

/** When the older conversation is summarised, and how. */
export interface Consolidation {
  /** Conversational messages after the last summary above which it is made. */
  readonly threshold: number
  /** Of the threshold, the share that stays: 0 keeps one message, 1 keeps all and never consolidates. */
  readonly keepRecentRatio: number
  /** `provider/model`; left out: the agent's. */
  readonly model?: string
  /** Stand in for the prompt of `log/summary-prompt.ts`. */
  readonly instructions?: string
}

export const DEFAULT_CONSOLIDATION: Consolidation = { threshold: 100, keepRecentRatio: 0.2 }

/** A server of the Model Context Protocol whose tools an agent may call. */
export interface McpServer {
  readonly name: string
  readonly url: string
  /** Sent with each request; values may hold `${secret:NAME}`. */
  readonly headers: { readonly [name: string]: string }
  /** Of its tools only these, by their own names; left out: all. */
  readonly tools?: readonly string[]
  /** Tools whose calls a person must allow, by their own names; true: all. */
  readonly needsApproval: true | readonly string[]
  /** Tools that may run again after a crash, beside those that say so themselves. */
  readonly idempotent: readonly string[]
  readonly timeoutMs: number
}

/** A named configuration that runs can use. */
export interface Agent {
  readonly name: string
  /** `provider/model`. */
  readonly model: string
  readonly modelOptions: ModelOptions
  readonly instructions?: string
  /** Names of registered tools. */
  readonly tools: readonly string[]
  /** Its entry lists its tools; left out: it gets all. */
  readonly listsTools?: true
  /** Servers whose tools it may call, too; left out: none. */
  readonly mcp?: readonly McpServer[]
  /** Names of agents that it may give tasks to; left out: none. */
  readonly members?: readonly string[]
  readonly policies: Policies
}

/** The most that `offloadBytes` may be: no row keeps more of a result. */
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
}
