import {
  CreateTableCommand,
  DeleteTableCommand,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectsCommand,
  ListObjectsV2Command,
} from '@aws-sdk/client-s3'
import type { S3Client } from '@aws-sdk/client-s3'
import { CreateQueueCommand, DeleteQueueCommand, GetQueueAttributesCommand } from '@aws-sdk/client-sqs'
import type { SQSClient } from '@aws-sdk/client-sqs'
import { z } from 'zod'
import { definedFields } from '../../../../functions/domain/defined-fields.ts'

const KeySchema = z.array(z.object({ AttributeName: z.string(), KeyType: z.enum(['HASH', 'RANGE']) }))
const Index = z.object({
  IndexName: z.string(),
  KeySchema,
  Projection: z.object({
    ProjectionType: z.enum(['ALL', 'INCLUDE', 'KEYS_ONLY']),
    NonKeyAttributes: z.array(z.string()).optional(),
  }),
})

/** Properties of a table that the engine supports. */
export const TableProperties = z.object({
  AttributeDefinitions: z.array(z.object({ AttributeName: z.string(), AttributeType: z.enum(['S', 'N', 'B']) })),
  KeySchema,
  GlobalSecondaryIndexes: z.array(Index).optional(),
  LocalSecondaryIndexes: z.array(Index).optional(),
  BillingMode: z.literal('PAY_PER_REQUEST'),
  StreamSpecification: z
    .object({ StreamViewType: z.enum(['NEW_AND_OLD_IMAGES', 'NEW_IMAGE', 'OLD_IMAGE', 'KEYS_ONLY']) })
    .optional(),
  TimeToLiveSpecification: z.object({ AttributeName: z.string(), Enabled: z.boolean() }).optional(),
})

interface Provisioned {
  remove(): Promise<void>
}

/** Creates a table with its properties. Returns the ARN of its stream in the engine. */
export async function makeTable(
  client: DynamoDBClient,
  name: string,
  properties: z.output<typeof TableProperties>,
): Promise<Provisioned & { readonly streamArn: string | undefined }> {
  const { TimeToLiveSpecification, StreamSpecification, GlobalSecondaryIndexes, LocalSecondaryIndexes, ...keys } =
    properties
  const { TableDescription } = await client.send(
    new CreateTableCommand({
      TableName: name,
      ...keys,
      ...(StreamSpecification === undefined
        ? {}
        : { StreamSpecification: { ...StreamSpecification, StreamEnabled: true } }),
      ...(GlobalSecondaryIndexes === undefined
        ? {}
        : { GlobalSecondaryIndexes: GlobalSecondaryIndexes.map(withoutAbsent) }),
      ...(LocalSecondaryIndexes === undefined
        ? {}
        : { LocalSecondaryIndexes: LocalSecondaryIndexes.map(withoutAbsent) }),
    }),
  )
  await waitUntilTableExists({ client, maxWaitTime: 60, minDelay: 1 }, { TableName: name })
  if (TimeToLiveSpecification !== undefined)
    await client.send(new UpdateTimeToLiveCommand({ TableName: name, TimeToLiveSpecification }))
  return {
    streamArn: TableDescription?.LatestStreamArn,
    async remove() {
      await client.send(new DeleteTableCommand({ TableName: name }))
    },
  }
}

function withoutAbsent({ Projection, ...index }: z.output<typeof Index>) {
  const { NonKeyAttributes, ProjectionType } = Projection
  return {
    ...index,
    Projection: { ProjectionType, ...definedFields({ NonKeyAttributes }) },
  }
}

/** Properties of a queue that decide its behaviour. */
export const QueueProperties = z.object({
  VisibilityTimeout: z.int().optional(),
  MessageRetentionPeriod: z.int().optional(),
  DelaySeconds: z.int().optional(),
  ReceiveMessageWaitTimeSeconds: z.int().optional(),
  FifoQueue: z.literal(false).optional(),
  RedrivePolicy: z.object({ deadLetterTargetArn: z.string(), maxReceiveCount: z.int() }).optional(),
})

/**
 * Creates a queue with these properties. Returns the queue's address and ARN in the engine. `arnOf` converts the ARN of the
 * dead-letter queue, which must exist, to its ARN in the engine.
 */
export async function makeQueue(
  client: SQSClient,
  name: string,
  properties: z.output<typeof QueueProperties>,
  arnOf: (arn: string) => string = (arn) => arn,
): Promise<Provisioned & { readonly url: string; readonly arn: string }> {
  const { RedrivePolicy: redrive, FifoQueue: _, ...seconds } = properties
  const attributes = Object.fromEntries(Object.entries(seconds).map(([key, value]) => [key, `${value}`]))
  // The engine returns dead letters only to a queue that was created with its redrive policy, as on AWS.
  if (redrive !== undefined)
    attributes['RedrivePolicy'] = JSON.stringify({
      ...redrive,
      deadLetterTargetArn: arnOf(redrive.deadLetterTargetArn),
    })
  const { QueueUrl } = await client.send(new CreateQueueCommand({ QueueName: name, Attributes: attributes }))
  if (QueueUrl === undefined) throw new Error(`the queue ${name} has no address`)
  const { Attributes } = await client.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] }))
  return {
    url: QueueUrl,
    arn: Attributes?.QueueArn ?? '',
    async remove() {
      await client.send(new DeleteQueueCommand({ QueueUrl }))
    },
  }
}

/** Creates a bucket. No engine here supports its other properties (lifecycle, encryption, policies). */
export async function makeBucket(client: S3Client, name: string): Promise<Provisioned> {
  await client.send(new CreateBucketCommand({ Bucket: name }))
  return {
    async remove() {
      for (;;) {
        const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: name }))
        if (Contents.length === 0) break
        const Objects = Contents.map(({ Key }) => ({ Key }))
        await client.send(new DeleteObjectsCommand({ Bucket: name, Delete: { Objects } }))
      }
      await client.send(new DeleteBucketCommand({ Bucket: name }))
    },
  }
}

/**
 * Makes an empty collection. A new collection has no indexes, so this removes indexes that earlier suites left under these
 * names.
 */
export async function makeCollection(endpoint: string, pattern: string): Promise<Provisioned> {
  const remove = async (): Promise<void> => {
    const found = await fetch(`${endpoint}/_cat/indices/${pattern}?format=json`)
    for (const { index } of (await found.json()) as { readonly index: string }[])
      await fetch(`${endpoint}/${index}`, { method: 'DELETE' })
  }
  await remove()
  return { remove }
}
