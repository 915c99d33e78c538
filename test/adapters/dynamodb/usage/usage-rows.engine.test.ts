/* Evidence, limits: A sum of usage by session or owner reads at most 10,000 rows, and is refused beyond that. */
import { BatchWriteItemCommand } from '@aws-sdk/client-dynamodb'
import { expect, test } from 'vitest'
import { createDynamoUsageLedger } from '../../../../functions/adapters/dynamodb/log/usage/usage-ledger.ts'
import { dayPartitions, ofSessions } from '../../../../functions/adapters/dynamodb/log/usage/usage-items.ts'
import { MAX_USAGE_ROWS } from '../../../../functions/ports/usage-ledger.ts'
import { createManualClock } from '../../../contracts/stores.ts'
import { dynamodbClient } from '../../../engines/clients.ts'
import { withEngines } from '../../../engines/with-engines.ts'
import { createTestTable } from '../engine.ts'

const DAY = '2026-11-22'
/** Number of concurrent requests. Each writes 25 rows. */
const AT_ONCE = 8

withEngines(['dynamodb'], ({ dynamodb }) => {
  test('usage is summed over at most 10,000 rows of sessions or owners; other sums have no such limit', async () => {
    const client = dynamodbClient(dynamodb)
    const tableName = await createTestTable(client)
    const usage = createDynamoUsageLedger({ client, tableName, clock: createManualClock() })
    const query = { tenant: 't', from: DAY, to: DAY } as const
    const partitions = dayPartitions('t', DAY)
    const put = (at: number) => {
      const [pk, sk] = [partitions[at % partitions.length] ?? '', `${ofSessions('ann')}s${at}`]
      return {
        PutRequest: { Item: { pk: { S: pk }, sk: { S: sk }, session: { S: `s${at}` }, owner: { S: 'ann' } } },
      }
    }
    const add = async (from: number, to: number): Promise<void> => {
      const numbers = Array.from({ length: to - from }, (_, place) => from + place)
      const batches = Array.from({ length: Math.ceil(numbers.length / 25) }, (_, at) =>
        numbers.slice(at * 25, at * 25 + 25),
      )
      const queue = batches.values()
      const worker = async (): Promise<void> => {
        for (const batch of queue)
          await client.send(new BatchWriteItemCommand({ RequestItems: { [tableName]: batch.map(put) } }))
      }
      await Promise.all(Array.from({ length: AT_ONCE }, worker))
    }
    await add(0, MAX_USAGE_ROWS)
    expect(await usage.sums({ ...query, by: 'session' })).toEqual([])
    await add(MAX_USAGE_ROWS, MAX_USAGE_ROWS + 1)
    for (const by of ['session', 'owner'] as const)
      await expect(usage.sums({ ...query, by })).rejects.toMatchObject({ code: 'invalid_query' })
    await expect(usage.sums({ ...query, by: 'day', owner: 'ann' })).rejects.toMatchObject({ code: 'invalid_query' })
    expect(await usage.sums({ ...query, by: 'day', owner: 'bob' })).toEqual([])
    expect(await usage.sums({ ...query, by: 'day' })).toEqual([])
    client.destroy()
  })
})
