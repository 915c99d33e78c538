import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams'
import { S3Client } from '@aws-sdk/client-s3'
import { SQSClient } from '@aws-sdk/client-sqs'

/** What s3proxy asks for and the other engines take; with real AWS the variables of the SDK stand. */
const credentials = {
  accessKeyId: process.env['AWS_ACCESS_KEY_ID'] ?? 'local',
  secretAccessKey: process.env['AWS_SECRET_ACCESS_KEY'] ?? 'localsecret',
}
const region = process.env['AWS_REGION'] ?? 'us-east-1'

const limitedTo = (requestTimeout: number | undefined) =>
  requestTimeout === undefined ? {} : { requestHandler: { requestTimeout, throwOnRequestTimeout: true } }

/** A client of a DynamoDB engine, which leaves it to the adapter to repeat a request; gives one up after `timeLimitMs`. */
export const dynamodbClient = (endpoint: string, timeLimitMs?: number): DynamoDBClient =>
  new DynamoDBClient({
    endpoint,
    region,
    credentials,
    maxAttempts: 1,
    ...limitedTo(timeLimitMs),
  })

/** A client of the streams of a DynamoDB engine. */
export const streamsClient = (endpoint: string): DynamoDBStreamsClient =>
  new DynamoDBStreamsClient({ endpoint, region, credentials })

/** A client of an S3 engine; one that gives a request up after `timeLimitMs`. */
export const s3Client = (endpoint: string, timeLimitMs?: number): S3Client =>
  new S3Client({ endpoint, region, credentials, forcePathStyle: true, ...limitedTo(timeLimitMs) })

/** A client of an SQS engine. */
export const sqsClient = (endpoint: string): SQSClient => new SQSClient({ endpoint, region, credentials })
