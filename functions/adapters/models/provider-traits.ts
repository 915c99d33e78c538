/** How requests differ between providers. */
export interface ProviderTraits {
  /** `raw`: the package sends a string of arguments. `parsed`: it sends an object, and insists on unique, plain call ids. */
  readonly arguments: 'raw' | 'parsed'
  /** `tool_choice: none` works and keeps the tools declared. */
  readonly honoursNone: boolean
  /** Blank text is refused, and so is a conversation that the user does not begin. */
  readonly refusesBlank: boolean
  /** Media types that a user's message and a tool's result may carry. */
  readonly userMedia: RegExp
  readonly toolMedia: RegExp
  /** Tokens of output to ask for if the agent sets none; undefined: none are named. */
  readonly maxOutputTokens: number | undefined
  /** Options of the provider's package for every request, under its own name; an agent's override them. */
  readonly options: { readonly [provider: string]: { readonly [option: string]: JsonValue } }
}

type JsonValue = string | boolean | { readonly [key: string]: string }
