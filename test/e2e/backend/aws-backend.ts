import { createHash } from 'node:crypto'
import { DeleteTableCommand, paginateScan } from '@aws-sdk/client-dynamodb'
import { DeleteBucketCommand, DeleteObjectCommand, paginateListObjectsV2 } from '@aws-sdk/client-s3'
import { DeleteQueueCommand, paginateListQueues } from '@aws-sdk/client-sqs'
import { POSITIONS } from '../../../functions/adapters/dynamodb/stream/positions.ts'
import { dynamodbClient, s3Client, sqsClient } from '../../engines/clients.ts'
import { REGION } from '../../engines/region.ts'
import type { Backend, Place } from './backend.ts'

/** Addresses of the engines. */
export type AwsEndpoints = { readonly [name in 'dynamodb' | 'opensearch' | 's3' | 'sqs']: string }

/** DynamoDB, S3, SQS and OpenSearch at these endpoints, with a table, a bucket, queues and an index for each place. */
export const awsBackend = (endpoints: AwsEndpoints): Backend => ({
  name: 'DynamoDB, S3, SQS and OpenSearch',
  slower: 5,
  findsAtOnce: false,
  open: async () => openPlace(endpoints),
})

function openPlace(endpoints: AwsEndpoints): Place {
  const name = `e2e-${crypto.randomUUID()}`
  const dynamodb = dynamodbClient(endpoints.dynamodb)
  const s3 = s3Client(endpoints.s3)
  const sqs = sqsClient(endpoints.sqs)

  async function objects(): Promise<string[]> {
    const keys: string[] = []
    for await (const page of paginateListObjectsV2({ client: s3 }, { Bucket: name }))
      keys.push(...(page.Contents ?? []).flatMap(({ Key }) => Key ?? []))
    return keys
  }

  async function* texts(): AsyncGenerator<string, void> {
    for await (const page of paginateScan({ client: dynamodb }, { TableName: name, ConsistentRead: true }))
      for (const item of page.Items ?? []) yield itemText(item)
    await fetch(`${endpoints.opensearch}/${name}-v*/_refresh`, { method: 'POST' })
    const found = await fetch(`${endpoints.opensearch}/${name}-v*/_search?size=10000`)
    const { hits } = (await found.json()) as { hits: { hits: readonly unknown[] } }
    for (const hit of hits.hits) yield JSON.stringify(hit)
  }

  async function removeBucket(): Promise<void> {
    for (const Key of await objects()) await s3.send(new DeleteObjectCommand({ Bucket: name, Key }))
    await s3.send(new DeleteBucketCommand({ Bucket: name }))
  }

  async function removeQueues(): Promise<void> {
    for await (const page of paginateListQueues({ client: sqs }, { QueueNamePrefix: name }))
      for (const QueueUrl of page.QueueUrls ?? []) await sqs.send(new DeleteQueueCommand({ QueueUrl }))
  }

  return {
    env: {
      TOOLTRAIL_BACKEND: 'aws',
      AWS_REGION: REGION,
      TOOLTRAIL_TABLE: name,
      TOOLTRAIL_BUCKET: name,
      TOOLTRAIL_INDEX: name,
      DYNAMODB_ENDPOINT: endpoints.dynamodb,
      OPENSEARCH_ENDPOINT: endpoints.opensearch,
      S3_ENDPOINT: endpoints.s3,
      SQS_ENDPOINT: endpoints.sqs,
    },
    texts,
    objects,
    async fingerprint() {
      const rows: string[] = []
      for await (const page of paginateScan({ client: dynamodb }, { TableName: name, ConsistentRead: true }))
        rows.push(...(page.Items ?? []).filter(isKept).map((item) => JSON.stringify(item)))
      const all = [...rows.toSorted(), ...(await objects()).toSorted()]
      return createHash('sha256').update(all.join('\n')).digest('hex')
    },
    async remove() {
      await Promise.all([
        dynamodb.send(new DeleteTableCommand({ TableName: name })),
        removeBucket(),
        removeQueues(),
        fetch(`${endpoints.opensearch}/${name}-v*`, { method: 'DELETE' }),
      ])
      for (const client of [dynamodb, s3, sqs]) client.destroy()
    },
  }
}

/** Shows binary values as text, one character per byte. */
const itemText = (item: object): string =>
  JSON.stringify(item, (_, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
  )

/** Excludes the item with the indexer's position, which the indexer may write at any time. */
const isKept = (item: { readonly [name: string]: { readonly S?: string | undefined } }): boolean =>
  item['pk']?.S !== POSITIONS
