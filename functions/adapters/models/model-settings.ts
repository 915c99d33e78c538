/** `fetch` as the provider packages call it. */
export type FetchFunction = typeof globalThis.fetch

export interface KeySettings {
  readonly apiKey: string
  /** @default the provider's own address */
  readonly baseUrl?: string
}

/** Settings of a server that speaks Chat Completions, such as Ollama. */
export interface ServerSettings {
  /** The address, including `/v1`. */
  readonly baseUrl: string
  readonly apiKey?: string
}

interface AwsCredentials {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  readonly sessionToken?: string
}

/** Settings of Bedrock: either an API key, or credentials that sign each request. */
export interface BedrockSettings {
  readonly region: string
  readonly apiKey?: string
  readonly credentials?: () => Promise<AwsCredentials>
  readonly baseUrl?: string
}

/** Settings of each provider. A provider without settings cannot be used. */
export interface ModelSettings {
  readonly anthropic?: KeySettings
  readonly openai?: KeySettings
  readonly bedrock?: BedrockSettings
  readonly server?: ServerSettings
}
