import type { JsonFormat } from '../../domain/runs/request-settings.ts'
import type { NameRules } from '../../log/request/wire-names.ts'

/** Differences between providers' requests. */
export interface ProviderTraits {
  /**
   * `raw`: the package sends the arguments as a string. `parsed`: the package sends an object, and requires unique call
   * ids.
   */
  readonly arguments: 'raw' | 'parsed'
  /** Call ids that the provider accepts. */
  readonly ids: NameRules
  /** Whether the package parses the schemas of tools. It throws if it cannot parse one of them. */
  readonly parsesSchemas?: true
  /** Whether `tool_choice: none` works and keeps the tools declared. */
  readonly honoursNone: boolean
  /**
   * Whether the provider takes this format as a field of the request. `false`: only the instructions describe the
   * format. `hinted`: both the field and the instructions are sent, because a server may ignore the field. The
   * parameter `mayCall` is whether the model may call tools instead.
   */
  takesFormat(format: JsonFormat, mayCall: boolean): boolean | 'hinted'
  /** Returns the package's options for a request with a format that the provider takes. */
  readonly formatOptions?: (format: JsonFormat) => ProviderOptions
  /** Whether the provider rejects blank text, and conversations that do not begin with the user. */
  readonly refusesBlank: boolean
  /** Media types that a user's message and a tool's result may contain. */
  readonly userMedia: RegExp
  readonly toolMedia: RegExp
  /** Output tokens to request if the agent sets no limit. If undefined, such a request names no limit. */
  readonly maxOutputTokens: number | undefined
  /** The package's options for every request, under its own name. An agent's options override them. */
  readonly options: ProviderOptions
}

type ProviderOptions = { readonly [provider: string]: { readonly [option: string]: JsonValue } }

type JsonValue = string | boolean | { readonly [key: string]: string }
