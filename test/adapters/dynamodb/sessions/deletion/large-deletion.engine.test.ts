/* Evidence, durability: A session of large rows can be deleted on DynamoDB. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BatchWriteItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb'
import { expect, test } from 'vitest'
import { createDiskOutputStore } from '../../../../../functions/adapters/disk/output-store.ts'
import { partitionOf } from '../../../../../functions/adapters/dynamodb/keys.ts'
import { putMessage, textsOfMessage } from '../../../../../functions/adapters/dynamodb/log/messages/message-item.ts'
import { createDynamoSessionDeletion } from '../../../../../functions/adapters/dynamodb/log/sessions/deletion/session-deletion.ts'
import { createDynamoSessionStore } from '../../../../../functions/adapters/dynamodb/log/sessions/session-store.ts'
import { nextIds } from '../../../../../functions/domain/ids.ts'
import type { UserMessage } from '../../../../../functions/domain/messages/message.ts'
import { createManualClock } from '../../../../contracts/stores.ts'
import { dynamodbClient } from '../../../../engines/clients.ts'
import { withEngines } from '../../../../engines/with-engines.ts'
import { operationOf, tooLarge } from '../../../../faults/dynamodb-faults.ts'
import { startFaultProxy } from '../../../../faults/fault-proxy.ts'
import { createTestTable } from '../../engine.ts'

const MESSAGES = 10_000
/**
 * Number of rows of 300 KB each, near the limit of an item. Together they have seven times the size limit of one atomic write.
 */
const LARGE = 99
const LARGE_TEXT = 'x'.repeat(300_000)
/** Limit of one `BatchWriteItem`. */
const BATCH = 25
/**
 * Numbers of the writes at which the process dies, before or after the write is executed. The process never learns the outcome.
 */
const DEATHS = [
  { at: 'after', write: 20 },
  { at: 'before', write: 35 },
] as const

withEngines(['dynamodb'], ({ dynamodb }) => {
  test('a deletion that is killed twice removes all 10,000 messages, and counts each message once', async () => {
    const client = dynamodbClient(dynamodb)
    const tableName = await createTestTable(client)
    const folder = await mkdtemp(join(tmpdir(), 'tooltrail-deletion-'))
    const rest = { tableName, outputs: createDiskOutputStore({ folder }), clock: createManualClock() }
    const key = { tenant: 'default', session: 'large' }
    await createDynamoSessionStore({ client, ...rest }).create({ ...key, agent: 'a', metadata: {} })
    await fill(client, tableName, key)
    const deletion = createDynamoSessionDeletion({ client, ...rest })
    expect(await deletion.tombstone(key)).toBe(true)
    for (const death of DEATHS) await dieWhileRemoving(death)
    while ((await deletion.removeRows(key, 1_000)).more);
    await deletion.markRemoved(key, 0)
    expect(await deletion.state(key)).toMatchObject({ messages: MESSAGES, documents: MESSAGES, removed: true })
    const left = await client.send(
      new QueryCommand({
        TableName: tableName,
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': { S: partitionOf(key) } },
        ProjectionExpression: 'sk',
      }),
    )
    expect(left.Items).toEqual([{ sk: { S: '#SESSION' } }])
    client.destroy()
    await rm(folder, { recursive: true, force: true })

    async function dieWhileRemoving({ at, write }: (typeof DEATHS)[number]): Promise<void> {
      const proxy = await startFaultProxy(dynamodb)
      let writes = 0
      proxy.decide((request) => {
        if (operationOf(request) === 'TransactWriteItems') writes += 1
        if (writes < write) return undefined
        return {
          at: writes === write && operationOf(request) === 'TransactWriteItems' ? at : 'before',
          does: { kind: 'cut' },
        }
      })
      const dying = dynamodbClient(proxy.endpoint, 10_000)
      await expect(createDynamoSessionDeletion({ client: dying, ...rest }).removeRows(key, MESSAGES)).rejects.toThrow()
      dying.destroy()
      await proxy.stop()
      expect((await deletion.state(key))?.removed).toBe(false)
    }
  }, 1_200_000)

  test('a session with rows of 300 KB is removed completely, in writes that AWS accepts', async () => {
    const client = dynamodbClient(dynamodb)
    const proxy = await startFaultProxy(dynamodb)
    proxy.decide(tooLarge(client))
    const tableName = await createTestTable(client)
    const folder = await mkdtemp(join(tmpdir(), 'tooltrail-deletion-'))
    const rest = { tableName, outputs: createDiskOutputStore({ folder }), clock: createManualClock() }
    const key = { tenant: 'default', session: 'heavy' }
    await createDynamoSessionStore({ client, ...rest }).create({ ...key, agent: 'a', metadata: {} })
    await fill(client, tableName, key, { messages: LARGE, text: LARGE_TEXT, batch: 5 })
    const through = dynamodbClient(proxy.endpoint)
    const deletion = createDynamoSessionDeletion({ client: through, ...rest })
    expect(await deletion.tombstone(key)).toBe(true)
    while ((await deletion.removeRows(key, 1_000)).more);
    expect(await deletion.state(key)).toMatchObject({ messages: LARGE })
    for (const each of [client, through]) each.destroy()
    await proxy.stop()
    await rm(folder, { recursive: true, force: true })
  })
})

async function fill(
  client: ReturnType<typeof dynamodbClient>,
  tableName: string,
  key: { tenant: string; session: string },
  { messages = MESSAGES, text = 'a message', batch = BATCH } = {},
): Promise<void> {
  const ids = nextIds(undefined, Date.now(), messages)
  for (let from = 0; from < messages; from += batch) {
    const requests = ids.slice(from, from + batch).flatMap((id) => {
      const parts = [{ type: 'text', text }] as const
      const message: UserMessage = { id, runId: 'run', agent: 'a', round: 0, createdAt: 1, role: 'user', parts }
      const texts = textsOfMessage(message).map((of) => ({ [of.attribute]: of.text }))
      const action = putMessage(key, message, texts)
      return 'put' in action ? [{ PutRequest: { Item: { ...action.put } } }] : []
    })
    await client.send(new BatchWriteItemCommand({ RequestItems: { [tableName]: requests } }))
  }
}
