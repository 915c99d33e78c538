/* Evidence, durability: No run fails when a burst of inputs conflicts with the holder's writes. */
import { TransactionCanceledException } from '@aws-sdk/client-dynamodb'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { expect, test } from 'vitest'
import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import { makeTool, openHarness } from '../../../agent/harness.ts'
import { dynamodbClient } from '../../../engines/clients.ts'
import { withEngines } from '../../../engines/with-engines.ts'
import { createTestTable, dynamodbPorts } from '../engine.ts'

const POSTS = 30
/**
 * Number of refused transactions. Many writes share these refusals. Each write has nine attempts within three seconds.
 * No write of the holder needs more.
 */
const CONFLICTS = 40

withEngines(['dynamodb'], ({ dynamodb }) => {
  test('no run fails when a burst of inputs conflicts with writes of its holder', async () => {
    const client = dynamodbClient(dynamodb)
    const tableName = await createTestTable(client)
    let begin = (): void => undefined
    const begun = new Promise<void>((resolve) => (begin = resolve))
    const conflicts = { left: 0, met: 0 }
    conflictWith(client, conflicts)
    const work = makeTool('work', async () => {
      conflicts.left = CONFLICTS
      begin()
      return { text: 'done' }
    })
    const turns = Array.from({ length: POSTS }, (_, number) => ({ text: `turn ${number}` }))
    const harness = await openHarness({
      script: [{ calls: [{ name: 'work' }] }, { text: 'first' }, ...turns],
      tools: [work],
      change: (local) => ({
        ...local,
        ...dynamodbPorts({ client, tableName, outputs: local.outputs, clock: createSystemClock() }),
      }),
    })
    try {
      await harness.ports.sessions.create({ ...harness.key, agent: 'default', metadata: {} })
      const first = await harness.submit('go')
      await begun
      const posts = await Promise.all(turns.map(({ text }) => harness.submit(text)))
      const runs = await Promise.all([first, ...posts].map((run) => harness.settled(run)))
      expect(runs.map(({ status }) => status)).toEqual(runs.map(() => 'completed'))
      expect([new Set(posts).size, conflicts]).toEqual([POSTS, { left: 0, met: CONFLICTS }])
    } finally {
      await harness.close()
      client.destroy()
    }
  })
})

/**
 * Refuses the next transactions, as if another transaction wrote the same item. DynamoDB refuses transactions that
 * conflict; DynamoDB Local does not.
 */
function conflictWith(client: DynamoDBClient, conflicts: { left: number; met: number }): void {
  client.middlewareStack.add(
    (next, { commandName = '' }) =>
      async (request) => {
        if (conflicts.left === 0 || commandName !== 'TransactWriteItemsCommand') return next(request)
        conflicts.left--
        conflicts.met++
        const reasons = [{ Code: 'TransactionConflict' }]
        throw new TransactionCanceledException({ message: 'conflict', $metadata: {}, CancellationReasons: reasons })
      },
    { step: 'initialize', name: 'conflicts' },
  )
}
