/* Evidence, cloud: When a session is deleted, its contents are also removed from Lambda's failed batches. */
import { CreateBucketCommand, GetObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3'
import { expect, test } from 'vitest'
import {
  askedOnce,
  partitionOfRecord,
  stripDeleted,
} from '../../../functions/adapters/dynamodb/stream/deleted-records.ts'
import type { StreamRecord } from '../../../functions/adapters/dynamodb/stream/row-records.ts'
import { failedRecords } from '../../../functions/adapters/s3/failed-batches.ts'
import { createBatchStripper, type Stripping } from '../../../functions/adapters/s3/stripped-batches.ts'
import { s3Client } from '../../engines/clients.ts'
import { withEngines } from '../../engines/with-engines.ts'

const recordOf = (session: string, text: string): object => ({
  dynamodb: { Keys: { pk: { S: `S#acme#${session}` }, sk: { S: '01K0' } }, NewImage: { text: { S: text } } },
})

const subjectOf = (record: unknown): string | undefined => partitionOfRecord(record as StreamRecord)
function strippingOf(deleted: string): Pick<Stripping, 'concerns' | 'strip'> {
  const concerns = askedOnce(async ({ tenant, session }) => tenant === 'acme' && session === deleted)
  return { concerns, strip: (record) => stripDeleted(record as StreamRecord, concerns) }
}

withEngines(['s3'], ({ s3 }) => {
  test('deleting a session removes its documents from failed batches and keeps those of other sessions', async () => {
    const client = s3Client(s3)
    const bucket = `failures-${crypto.randomUUID()}`
    await client.send(new CreateBucketCommand({ Bucket: bucket }))
    const put = async (name: string, records: object[], payload: (event: object) => unknown): Promise<void> => {
      const body = {
        version: '1.0',
        requestContext: { condition: 'RetryAttemptsExhausted' },
        payload: payload({ Records: records }),
      }
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: `aws/lambda/${name}`, Body: JSON.stringify(body) }))
    }
    await put('both', [recordOf('gone', 'a secret'), recordOf('kept', 'a word')], (event) => JSON.stringify(event))
    await put('gone', [recordOf('gone', 'a secret')], (event) => event)
    await put('kept', [recordOf('kept', 'another word'), recordOf('gone2', 'more')], (event) => event)

    const strip = createBatchStripper({ client, bucket, subjectOf })
    const gone = strippingOf('gone')
    await strip({ ...gone, since: Date.now() + 60_000 })
    expect((await client.send(new ListObjectsV2Command({ Bucket: bucket }))).KeyCount).toBe(3)
    await strip({ ...gone, since: Date.now() - 60_000 })

    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket }))
    expect(Contents.map((object) => object.Key)).toEqual(['aws/lambda/both', 'aws/lambda/kept'])
    for (const object of Contents) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: object.Key }))
      expect(await Body?.transformToString()).not.toContain('a secret')
    }
    const left: unknown[] = []
    for await (const { records } of failedRecords({ client, bucket })) left.push(records)
    expect(left).toEqual([[recordOf('kept', 'a word')], [recordOf('kept', 'another word'), recordOf('gone2', 'more')]])
    client.destroy()
  })

  test('four batches are read concurrently, and no unchanged batch is read twice, even over several deletions', async () => {
    const client = s3Client(s3)
    const bucket = `failures-${crypto.randomUUID()}`
    await client.send(new CreateBucketCommand({ Bucket: bucket }))
    const BATCHES = 40
    for (let batch = 0; batch < BATCHES; batch++) {
      const payload = { Records: [recordOf(`s${batch}`, 'a secret'), recordOf('other', 'a word')] }
      await client.send(
        new PutObjectCommand({ Bucket: bucket, Key: `batch-${batch}`, Body: JSON.stringify({ payload }) }),
      )
    }
    const read: string[] = []
    let [under, most] = [0, 0]
    client.middlewareStack.add(
      (next, { commandName }) =>
        async (args) => {
          if (commandName !== 'GetObjectCommand') return next(args)
          read.push((args.input as { Key: string }).Key)
          most = Math.max(most, ++under)
          return next(args).finally(() => under--)
        },
      { step: 'initialize' },
    )
    const strip = createBatchStripper({ client, bucket, subjectOf })
    expect(await strip({ ...strippingOf('s7'), isOver: () => read.length >= 10 })).toBe(false)
    expect(read.length).toBeLessThan(BATCHES / 2)
    expect(await strip(strippingOf('s7'))).toBe(true)
    await strip(strippingOf('s39'))
    await strip(strippingOf('nothing'))
    expect(most).toBe(4)
    // A batch is read to find its subjects, again if it must change, and once more after the change.
    const times = (name: string): number => read.filter((one) => one === name).length
    for (let batch = 0; batch < BATCHES; batch++)
      expect(times(`batch-${batch}`), `batch-${batch}`).toBeLessThanOrEqual(batch === 7 || batch === 39 ? 3 : 1)
    expect(new Set(read).size).toBe(BATCHES)
    const left = new Map<string, string>()
    for (const batch of [6, 7, 38, 39]) {
      const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: `batch-${batch}` }))
      left.set(`batch-${batch}`, (await Body?.transformToString()) ?? '')
    }
    expect([...left].filter(([, text]) => text.includes('a secret')).map(([name]) => name)).toEqual([
      'batch-6',
      'batch-38',
    ])
    client.destroy()
  })
})
