import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { SQSClient } from '@aws-sdk/client-sqs'
import { definedFields } from '../../domain/defined-fields.ts'
import type { Signing } from '../../adapters/opensearch/client.ts'

/** Timeout of a request to a store, in milliseconds. */
const REQUEST_MS = 10_000

/**
 * Creates the time limits of a client's requests. They also limit how long a response may stall. A stalled response
 * would occupy one of the client's fifty connections for ever.
 */
const limits = (milliseconds: number) => ({
  requestTimeout: milliseconds,
  socketTimeout: milliseconds,
  throwOnRequestTimeout: true,
})

export interface ClientSettings {
  readonly region: string
  /** @default the SDK finds credentials itself, and renews them when they expire */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined
  /** The addresses of engines that replace AWS services. @default the SDK's own endpoints */
  readonly endpoints: {
    readonly dynamodb?: string | undefined
    readonly s3?: string | undefined
    readonly sqs?: string | undefined
  }
}

/** The options of every client. */
export function clientOptions({ region, credentials }: ClientSettings, endpoint: string | undefined) {
  return {
    region,
    requestHandler: limits(REQUEST_MS),
    ...definedFields({ credentials, endpoint }),
  }
}

/** Creates the client of the table. */
export const openDynamo = (settings: ClientSettings): DynamoDBClient =>
  // The adapter retries its requests. If the client retried as well, the waits would multiply.
  new DynamoDBClient({ ...clientOptions(settings, settings.endpoints.dynamodb), maxAttempts: 1 })

/** Creates the client of the queues. A poll waits up to 20 s for a message, so its timeout is longer. */
export const openSqs = (settings: ClientSettings): SQSClient =>
  new SQSClient({
    ...clientOptions(settings, settings.endpoints.sqs),
    requestHandler: limits(3 * REQUEST_MS),
  })

/**
 * Returns the settings by which requests to this address are signed. Requests to AWS collections and domains are
 * signed; requests to your own node are not.
 */
export function signingOf(
  endpoint: string,
  region: string,
  credentials: Signing['credentials'],
): { readonly signing?: Signing } {
  const service = /\.(aoss|es)\./.exec(new URL(endpoint).hostname)?.[1]
  return service === 'aoss' || service === 'es' ? { signing: { region, service, credentials } } : {}
}
