import type { IncomingHttpHeaders } from 'node:http'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams'
import { S3Client } from '@aws-sdk/client-s3'
import { SQSClient } from '@aws-sdk/client-sqs'
import { REGION as region } from './region.ts'

/**
 * Credentials that s3proxy requires and the other engines accept. If the environment has credentials, as for real AWS,
 * the SDK uses the credentials of the environment.
 */
const access =
  process.env['AWS_ACCESS_KEY_ID'] === undefined && process.env['AWS_PROFILE'] === undefined
    ? { credentials: { accessKeyId: 'local', secretAccessKey: 'localsecret' } }
    : {}

const limitedTo = (requestTimeout: number | undefined) =>
  requestTimeout === undefined ? {} : { requestHandler: { requestTimeout, throwOnRequestTimeout: true } }

/** A client of a DynamoDB engine without retries, because the adapter retries. Its time limit is `timeLimitMs`. */
export const dynamodbClient = (endpoint: string, timeLimitMs?: number): DynamoDBClient =>
  new DynamoDBClient({
    endpoint,
    region,
    ...access,
    maxAttempts: 1,
    ...limitedTo(timeLimitMs),
  })

/** Request that a client is about to send. */
export interface SentRequest {
  readonly method: string
  readonly path: string
  readonly query: object
  readonly headers: IncomingHttpHeaders
  readonly body: string | Uint8Array
}

/** Sets a client's time limit for each request: `limitOf` returns it in milliseconds. */
export function limitEach(
  { config: { requestHandler } }: DynamoDBClient | S3Client,
  limitOf: (request: SentRequest) => number,
): void {
  const handle = requestHandler.handle.bind(requestHandler)
  requestHandler.handle = (request, options) =>
    handle(request, { ...options, requestTimeout: limitOf(request as SentRequest) })
}

/** A client of the streams of a DynamoDB engine. */
export const streamsClient = (endpoint: string): DynamoDBStreamsClient =>
  new DynamoDBStreamsClient({ endpoint, region, ...access })

/** A client of an S3 engine, with the time limit `timeLimitMs`. */
export const s3Client = (endpoint: string, timeLimitMs?: number): S3Client =>
  new S3Client({ endpoint, region, ...access, forcePathStyle: true, ...limitedTo(timeLimitMs) })

/** A client of an SQS engine. */
export const sqsClient = (endpoint: string): SQSClient => new SQSClient({ endpoint, region, ...access })
