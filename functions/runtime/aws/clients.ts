import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { SQSClient } from '@aws-sdk/client-sqs'
import { definedFields } from '../../domain/defined-fields.ts'
import type { Signing } from '../../adapters/opensearch/client.ts'

/** Milliseconds after which a request to a store has failed. */
const REQUEST_MS = 10_000

/** A response may not stand still for longer either: its connection would be one of the client's fifty for ever. */
const limits = (milliseconds: number) => ({
  requestTimeout: milliseconds,
  socketTimeout: milliseconds,
  throwOnRequestTimeout: true,
})

export interface ClientSettings {
  readonly region: string
  /** @default the SDK finds them, and renews them when they expire */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined
  /** The address of an engine instead of AWS. @default the SDK's own endpoints */
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

/** The client of the table. */
export const openDynamo = (settings: ClientSettings): DynamoDBClient =>
  // The adapter repeats its requests: repeating them here as well would multiply the waits.
  new DynamoDBClient({ ...clientOptions(settings, settings.endpoints.dynamodb), maxAttempts: 1 })

/** The client of the queues. A poll waits up to 20 s for a message and must not be cut off before. */
export const openSqs = (settings: ClientSettings): SQSClient =>
  new SQSClient({
    ...clientOptions(settings, settings.endpoints.sqs),
    requestHandler: limits(3 * REQUEST_MS),
  })

/** How requests to this address are signed: signed for collections and domains on AWS, not for your own node. */
export function signingOf(
  endpoint: string,
  region: string,
  credentials: Signing['credentials'],
): { readonly signing?: Signing } {
  const service = /\.(aoss|es)\./.exec(new URL(endpoint).hostname)?.[1]
  return service === 'aoss' || service === 'es' ? { signing: { region, service, credentials } } : {}
}
