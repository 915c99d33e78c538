import { CreateBucketCommand, GetObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3'
import { expect, test } from 'vitest'
import { stripDeleted } from '../../../functions/adapters/dynamodb/stream/deleted-records.ts'
import type { StreamRecord } from '../../../functions/adapters/dynamodb/stream/row-records.ts'
import { failedRecords, stripFailedRecords } from '../../../functions/adapters/s3/failed-batches.ts'
import { s3Client } from '../../engines/clients.ts'
import { withEngines } from '../../engines/with-engines.ts'

const recordOf = (session: string, text: string): object => ({
  dynamodb: { Keys: { pk: { S: `S#acme#${session}` }, sk: { S: '01K0' } }, NewImage: { text: { S: text } } },
})

withEngines(['s3'], ({ s3 }) => {
  test('a deleted session leaves nothing of it in batches that were given up, and others keep what is theirs', async () => {
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

    const strip = stripDeleted(async ({ tenant, session }) => tenant === 'acme' && session === 'gone')
    const place = { client, bucket }
    await stripFailedRecords(place, (record) => strip(record as StreamRecord), Date.now() + 60_000)
    expect((await client.send(new ListObjectsV2Command({ Bucket: bucket }))).KeyCount).toBe(3)
    await stripFailedRecords(place, (record) => strip(record as StreamRecord), Date.now() - 60_000)

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
})
