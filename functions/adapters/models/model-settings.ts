/** `fetch` as the provider packages call it. */
export type FetchFunction = typeof globalThis.fetch

export interface KeySettings {
  readonly apiKey: string
  /** @default the provider's own address */
  readonly baseUrl?: string
}

/** A server that speaks Chat Completions, such as Ollama. */
export interface ServerSettings {
  /** Including `/v1`. */
  readonly baseUrl: string
  readonly apiKey?: string
}

interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** Either a Bedrock API key, or credentials that sign each request. */
export interface BedrockSettings {
  readonly region: string
  readonly apiKey?: string
  readonly credentials?: () => Promise<AwsCredentials>
  readonly baseUrl?: string
}

/** Settings of each provider; one that is left out cannot be used. */
export interface ModelSettings {
  readonly anthropic?: KeySettings
  readonly openai?: KeySettings
  readonly bedrock?: BedrockSettings
  readonly server?: ServerSettings
}
