import type { JsonObject } from './json.ts'
import type { OnBusy } from './run.ts'

export interface ModelOptions {
  readonly temperature?: number
  readonly maxOutputTokens?: number
  /** Milliseconds without any event after which a request has failed; left out: two minutes. */
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
  readonly onBusy: OnBusy
  /** Bytes of UTF-8 above which a tool result is offloaded. */
  readonly offloadBytes: number
  /** Code points of an offloaded result that its message keeps. */
  readonly previewChars: number
  readonly searchScope: 'owner' | 'session' | 'tenant'
  /** Days without activity after which a session is deleted; null: never. */
  readonly ttlDays: number | null
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
  readonly policies: Policies
}

export const DEFAULT_POLICIES: Policies = {
  maxRounds: 20,
  maxRunTokens: null,
  requireTool: null,
  replay: 'full',
  onBusy: 'queue',
  offloadBytes: 51_200,
  previewChars: 500,
  searchScope: 'owner',
  ttlDays: null,
}
