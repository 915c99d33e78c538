import { Client } from '@opensearch-project/opensearch'
import { AwsSigv4Signer } from '@opensearch-project/opensearch/aws-v3'

/** What AWS wants requests to be signed with; a node of one's own wants none. */
export interface Signing {
  readonly region: string
  /** `aoss`: OpenSearch Serverless; `es`: a managed domain. */
  readonly service: 'aoss' | 'es'
  readonly credentials: () => Promise<{
    readonly accessKeyId: string
    readonly secretAccessKey: string
    readonly sessionToken?: string
    readonly expiration?: Date
  }>
}

/** A serverless collection that sleeps wakes in 10 to 30 s: searches say so rather than wait for it. */
const TIMEOUT_MS = 10_000

/** A client that signs its requests where `signing` is given. It tries each request once: its callers know what to repeat. */
export function createOpenSearchClient({ endpoint, signing }: { endpoint: string; signing?: Signing }): Client {
  const options = { node: endpoint, maxRetries: 0, requestTimeout: TIMEOUT_MS }
  if (signing === undefined) return new Client(options)
  const { region, service, credentials } = signing
  return new Client({ ...AwsSigv4Signer({ region, service, getCredentials: credentials }), ...options })
}
