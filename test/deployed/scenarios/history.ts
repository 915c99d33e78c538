import { createHash } from 'node:crypto'
import { DeleteItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb'
import { ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3'
import { expect, test } from 'vitest'
import { shardOf } from '../../../functions/adapters/dynamodb/keys.ts'
import { nextId } from '../../../functions/domain/ids.ts'
import { dynamodbClient, s3Client } from '../../engines/clients.ts'
import { ENVIRONMENT } from '../system.ts'
import type { System } from '../system.ts'
import { within } from './within.ts'
import { FOUND_MS, found, hitsOf, put, rowsOf, said } from './inputs-and-hits.ts'
import { PNG } from '../../fixtures/png.ts'

const DATA = `tooltrail-${ENVIRONMENT}-data`
const DELETED_MS = 180_000
/** Time limit for the removal of a late object. After a minute, every old lease has expired. The sweeper runs once a minute. */
const LATE_MS = 300_000

/** An object that is stored outside the log. */
const IMAGE = { type: 'image', media_type: 'image/png', data: PNG }

/** Scenarios of deletion and expiry, with their effects on the table, the bucket and the index. */
export function declareHistory(system: () => System): void {
  test('a deletion that is interrupted after its first step is completed by the sweeper', async () => {
    const { client, functions, deployment } = system()
    await said(system(), 'torn', 'a word to lose: sumac')
    await found(system(), 'sumac')
    functions.Api.disturb((service, { body }) =>
      service === 'dynamodb' && body.includes('"Delete":') ? { kind: 'cut' } : undefined,
    )
    const reply = await client.send('DELETE', '/v1/sessions/torn')
    expect(reply.status).toBeGreaterThanOrEqual(500)
    functions.Api.disturb(() => undefined)
    expect((await rowsOf(system(), 'torn')).length).toBeGreaterThan(0)
    expect((await client.send('GET', '/v1/sessions/torn')).status).toBe(404)
    await expectGone(system(), 'torn', 'sumac')
    await deployment.tick()
  })

  test('a deleted session is removed from the API, the table, the bucket and the index', async () => {
    const { client, stranger } = system()
    await said(system(), 'deleted', 'a word to forget: turmeric')
    await found(system(), 'turmeric')
    const reply = await client.send('DELETE', '/v1/sessions/deleted')
    expect([200, 202]).toContain(reply.status)
    expect((await client.send('GET', '/v1/sessions/deleted')).status).toBe(404)
    await expectGone(system(), 'deleted', 'turmeric')
    expect((await stranger.send('GET', '/v1/deletions/deleted')).status).toBe(404)
  })

  test('an expired session is deleted when the sweeper finds it', async () => {
    const { client, deployment } = system()
    await letExpire(system(), 'swept', 'a word for a while: lavender', true)
    await deployment.tick()
    expect((await client.send('GET', '/v1/sessions/swept')).status).toBe(404)
    await expectGone(system(), 'swept', 'lavender')
  })

  test('an expired session is deleted once DynamoDB has removed its expiry record', async () => {
    const { client, table, engines } = system()
    const dynamodb = dynamodbClient(engines.dynamodb)
    const Key = await letExpire(system(), 'expired', 'a word for a while: juniper', false)
    system().expires({ pk: Key.pk.S, sk: Key.sk.S })
    await dynamodb.send(new DeleteItemCommand({ TableName: table, Key }))
    await within(FOUND_MS, 'the deletion', async () => {
      return (await client.send('GET', '/v1/sessions/expired')).status === 404
    })
    await expectGone(system(), 'expired', 'juniper')
  })

  test('objects that a late writer stores for a deleted session are also removed', async () => {
    const { deployment, engines } = system()
    const objects = { Bucket: deployment.output(DATA, 'BucketName'), Prefix: prefixOf('late') }
    const count = async (): Promise<number> =>
      (await s3Client(engines.s3).send(new ListObjectsV2Command(objects))).Contents?.length ?? 0
    await within(LATE_MS, 'the end of the late object', async () => {
      await deployment.tick()
      return (await count()) === 0
    })
    expect(await count()).toBe(0)
  })
}

/**
 * Deletes a session with an image. Then writes an object of this session, like a holder that has not noticed the
 * deletion.
 */
export async function deleteAndWriteLate({ client, deployment, engines }: System): Promise<void> {
  await client.post('/v1/sessions', { id: 'late' })
  await client.post('/v1/sessions/late/messages', { content: [{ type: 'text', text: 'what time is it' }, IMAGE] })
  await client.send('DELETE', '/v1/sessions/late')
  const Bucket = deployment.output(DATA, 'BucketName')
  const Key = `${prefixOf('late')}${nextId(undefined, Date.now())}`
  await s3Client(engines.s3).send(new PutObjectCommand({ Bucket, Key, Body: 'late' }))
}

const prefixOf = (session: string): string => `${createHash('sha256').update(`acme\0${session}`).digest('hex')}/`

/** Creates a session whose retention days have passed. Returns the key of its expiry row. */
async function letExpire(system: System, session: string, content: string, isSwept: boolean) {
  const { pk } = await said(system, session, [{ type: 'text', text: content }, IMAGE])
  await found(system, content.split(': ')[1] ?? '')
  const Key = { pk: { S: pk?.S ?? '' }, sk: { S: '#EXPIRY' } }
  await dynamodbClient(system.engines.dynamodb).send(
    new UpdateItemCommand({
      TableName: system.table,
      Key: { ...Key, sk: { S: '#SESSION' } },
      UpdateExpression: 'SET ttl_days = :days',
      ExpressionAttributeValues: { ':days': { N: '1' } },
    }),
  )
  const over = Date.now() - 60_000
  const bySweeper = { due_shard: { S: shardOf('expiry', { tenant: 'acme', session }) }, due: { N: String(over) } }
  await put(system, { ...Key, expires_at: { N: String(Math.floor(over / 1_000)) }, ...(isSwept ? bySweeper : {}) })
  return Key
}

/** Waits until the deletion ends, with the sweeper's help. No row and no document may remain. */
async function expectGone(system: System, session: string, word: string): Promise<void> {
  await within(DELETED_MS, `the end of ${session}`, async () => {
    await system.deployment.tick()
    const [rows, hits] = await Promise.all([rowsOf(system, session), hitsOf(system, word)])
    return rows.length + hits.length === 0
  })
  expect((await system.client.send('GET', `/v1/sessions/${session}`)).status).toBe(404)
}
