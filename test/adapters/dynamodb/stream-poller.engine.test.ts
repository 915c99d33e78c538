import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams'
import { PutItemCommand } from '@aws-sdk/client-dynamodb'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createTableIfAbsent } from '../../../functions/adapters/dynamodb/create-table.ts'
import { startStreamPoller } from '../../../functions/adapters/dynamodb/stream-poller.ts'
import { createStreamPositions } from '../../../functions/adapters/dynamodb/stream-positions.ts'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import { dynamodbClient } from '../../engines/clients.ts'
import { withEngines } from '../../engines/with-engines.ts'

withEngines(['dynamodb'], ({ dynamodb }) => {
  test('records come in order, again from the first that failed, and none after the poller has stopped', async () => {
    const client = dynamodbClient(dynamodb)
    const credentials = { accessKeyId: 'local', secretAccessKey: 'localsecret' }
    const streams = new DynamoDBStreamsClient({ endpoint: dynamodb, region: 'us-east-1', credentials })
    const tableName = `stream-${crypto.randomUUID()}`
    await createTableIfAbsent(client, tableName)
    const write = (name: string) =>
      client.send(new PutItemCommand({ TableName: tableName, Item: { pk: { S: 'one' }, sk: { S: name } } }))
    for (const name of ['a', 'b', 'c', 'd']) await write(name)

    const batches: string[][] = []
    let failures = 2
    const poller = startStreamPoller({
      client: streams,
      tableName,
      clock: { ...createSystemClock(), sleep: () => pause(20) },
      logger: { warn: () => {}, error: () => {} },
      async handle(records) {
        batches.push(records.map(({ dynamodb: record }) => record?.NewImage?.['sk']?.S ?? ''))
        const third = records.find(({ dynamodb: record }) => record?.NewImage?.['sk']?.S === 'c')
        if (third === undefined || failures-- <= 0) return { failed: [] }
        return { failed: [third.dynamodb?.SequenceNumber ?? ''] }
      },
    })
    const arrived = async (name: string): Promise<void> => {
      for (let tries = 0; tries < 200 && batches.at(-1)?.at(-1) !== name; tries++) await pause(50)
    }
    for (let tries = 0; tries < 500 && failures > 0; tries++) await pause(20)
    await arrived('d')
    await write('e')
    await arrived('e')
    await poller.stop()
    await write('f')
    await pause(300)
    expect(batches.flat().join('')).toMatch(/^abcd(cd){2}e$/)
    client.destroy()
    streams.destroy()
  })

  test('who comes next goes on where somebody has got to, and an earlier position never replaces a later one', async () => {
    const client = dynamodbClient(dynamodb)
    const credentials = { accessKeyId: 'local', secretAccessKey: 'localsecret' }
    const streams = new DynamoDBStreamsClient({ endpoint: dynamodb, region: 'us-east-1', credentials })
    const tableName = `stream-${crypto.randomUUID()}`
    await createTableIfAbsent(client, tableName)
    const positions = createStreamPositions({ client, tableName })
    const read = async (names: readonly string[]): Promise<string> => {
      const seen: string[] = []
      const poller = startStreamPoller({
        ...{ client: streams, tableName, positions, clock: createSystemClock() },
        logger: { warn: () => {}, error: () => {} },
        async handle(records) {
          seen.push(...records.flatMap(({ dynamodb: record }) => record?.NewImage?.['sk']?.S ?? []))
          return { failed: [] }
        },
      })
      for (const name of names)
        await client.send(new PutItemCommand({ TableName: tableName, Item: { pk: { S: 'one' }, sk: { S: name } } }))
      for (let tries = 0; tries < 200 && !seen.includes(names.at(-1) ?? ''); tries++) await pause(50)
      await poller.stop()
      return seen.filter((name) => name.length === 1).join('')
    }
    expect(await read(['a'])).toBe('a')
    expect(await read(['b'])).toBe('b')
    await positions.keep('of-a-test', '123')
    await positions.keep('of-a-test', '99')
    expect(await positions.read('of-a-test')).toBe('123')
    client.destroy()
    streams.destroy()
  })
})
