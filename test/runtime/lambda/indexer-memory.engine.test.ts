/* Evidence, limits: Outputs of any size are indexed in bounded memory. */
import { isWhole } from '../../whole.ts'
import { ScanCommand } from '@aws-sdk/client-dynamodb'
import { CreateBucketCommand } from '@aws-sdk/client-s3'
import { CreateQueueCommand } from '@aws-sdk/client-sqs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTableIfAbsent } from '../../../functions/adapters/dynamodb/create-table.ts'
import { createDynamoSessionStore } from '../../../functions/adapters/dynamodb/log/sessions/session-store.ts'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import { createS3OutputStore } from '../../../functions/adapters/s3/output-store.ts'
import { nextIds } from '../../../functions/domain/ids.ts'
import type { Message } from '../../../functions/domain/messages/message.ts'
import { dynamodbClient, s3Client, sqsClient } from '../../engines/clients.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { callTo, writeLog } from '../../generators/messages.ts'
import { writeMessages } from '../../history/index-corpus.ts'
import { memoryOf } from '../../history/memory-of.ts'
import { REGION } from '../../engines/region.ts'

/** Outputs of one batch, in MB. `WHOLE=1` tests a hundred times the size that once exhausted the function's memory. */
const [LARGEST, OTHERS] = isWhole ? [100, 32] : [16, 2]
const SIZES = [LARGEST, ...Array.from({ length: OTHERS }, () => 5)]
/** Heap limit of the program in MB. It is smaller than the heap of the function. */
const HEAP = 96
const BOUND = isWhole ? 128 : 96
const LINE = '2026-01-01T00:00:00Z INFO request ok xxxxxxxxxxxx\n'

withEngines(['dynamodb', 's3', 'sqs', 'opensearch'], (endpoints) => {
  const name = `memory-${crypto.randomUUID().slice(0, 8)}`
  const dynamodb = dynamodbClient(endpoints.dynamodb)
  const s3 = s3Client(endpoints.s3)
  const sqs = sqsClient(endpoints.sqs)
  const outputs = createS3OutputStore({ client: s3, bucket: name })
  const rows = { client: dynamodb, tableName: name, outputs, clock: createSystemClock() }
  const key = { tenant: 'acme', session: 's-1' }
  let folder: string
  let queueUrl: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tooltrail-indexer-'))
    await createTableIfAbsent(dynamodb, name)
    await s3.send(new CreateBucketCommand({ Bucket: name }))
    queueUrl = (await sqs.send(new CreateQueueCommand({ QueueName: name }))).QueueUrl ?? ''
    await createDynamoSessionStore(rows).create({ ...key, agent: 'default', metadata: {} })
  })
  afterAll(async () => {
    await fetch(`${endpoints.opensearch}/${name}-v*?expand_wildcards=all`, { method: 'DELETE' })
    for (const client of [dynamodb, s3, sqs]) client.destroy()
    await rm(folder, { recursive: true, force: true })
  })

  test('one batch with outputs of any size takes bounded memory, and all outputs are found', async () => {
    const [, made] = writeLog().assistant(callTo('shell', '{}')).result(0, 'the beginning').log
    const messages: Message[] = []
    for (const [place, id] of nextIds(undefined, Date.now(), SIZES.length).entries()) {
      const bytes = Buffer.from(LINE.repeat(((SIZES[place] ?? 0) * 1e6) / LINE.length) + `end-of-${place}`)
      const output = { bytes: bytes.length, lines: 1, sha256: '', mediaType: 'text/plain; charset=utf-8', object: id }
      await outputs.put(key, id, bytes, output.mediaType)
      messages.push({ ...made, id, output } as Message)
    }
    await writeMessages(rows, key, messages)
    const { Items: items = [] } = await dynamodb.send(new ScanCommand({ TableName: name }))
    const file = join(folder, 'event.json')
    const records = items.map((NewImage, place) => ({
      dynamodb: { SequenceNumber: String(place), Keys: { pk: NewImage['pk'], sk: NewImage['sk'] }, NewImage },
    }))
    await writeFile(file, JSON.stringify({ Records: records }))

    const program = join(import.meta.dirname, 'indexer-program.ts')
    const { idle, most, result } = await memoryOf(program, { heap: HEAP, args: [file], env: variables() })
    console.log(`idle ${idle.toFixed(0)} MB, at most ${most.toFixed(0)} MB`, result)
    expect(result).toMatchObject({ batchItemFailures: [] })
    expect(most - idle).toBeLessThan(BOUND)
    await expect.poll(() => foundIn(messages.length - 1)).toBe(1)
    await expect.poll(() => foundIn(0)).toBe(1)
  }, 1_200_000)

  const variables = () => ({
    TOOLTRAIL_ENVIRONMENT: 'test',
    TOOLTRAIL_TABLE: name,
    TOOLTRAIL_BUCKET: name,
    TOOLTRAIL_QUEUE_URL: queueUrl,
    TOOLTRAIL_POISON_URL: queueUrl,
    TOOLTRAIL_INDEX: name,
    OPENSEARCH_ENDPOINT: endpoints.opensearch,
    LOG_LEVEL: 'warn',
    AWS_REGION: REGION,
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'localsecret',
    AWS_ENDPOINT_URL_DYNAMODB: endpoints.dynamodb,
    AWS_ENDPOINT_URL_SQS: endpoints.sqs,
    AWS_ENDPOINT_URL_S3: endpoints.s3,
  })
  /** Number of documents with the last words of an output. */
  async function foundIn(place: number): Promise<number> {
    const body = { query: { term: { t_all: `end-of-${place}` } } }
    const headers = { 'content-type': 'application/json' }
    const request = { method: 'POST', headers, body: JSON.stringify(body) }
    const response = await fetch(`${endpoints.opensearch}/${name}/_search`, request)
    return ((await response.json()) as { hits: { total: { value: number } } }).hits.total.value
  }
})
