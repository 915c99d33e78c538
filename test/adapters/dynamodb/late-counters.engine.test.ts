/* Evidence, usage: On DynamoDB, an attempt of `steer` or of a counter update that arrives after its retry changes nothing. */
/*
 * Usage is counted once, even if writes are repeated (promises L3, record 18). Before a run of about 29 agents ends,
 * the holder moves counters from the header to the run (`moveCounters`). If the first attempt to end the run is still
 * in flight after 10 s, the holder repeats the end. The move of the first attempt may land between the read and the
 * write of the second attempt.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { headerKey } from '../../../functions/adapters/dynamodb/keys.ts'
import { moveCounters } from '../../../functions/adapters/dynamodb/log/usage/usage-folding.ts'
import { createTable } from '../../../functions/adapters/dynamodb/table.ts'
import { createDiskOutputStore } from '../../../functions/adapters/disk/output-store.ts'
import { endAfter, headOf, openFixture, roundAfter, startRun } from '../../contracts/session-fixture.ts'
import type { SessionFixture } from '../../contracts/session-fixture.ts'
import { createManualClock } from '../../contracts/stores.ts'
import { dynamodbClient } from '../../engines/clients.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { createTestTable, dynamodbPorts } from './engine.ts'

withEngines(['dynamodb'], ({ dynamodb }) => {
  describe('a late counter update', () => {
    let open: () => Promise<SessionFixture>
    let table: ReturnType<typeof createTable>
    let before: (() => Promise<unknown>) | undefined
    const client = dynamodbClient(dynamodb)
    beforeAll(async () => {
      const [clock, tableName] = [createManualClock(), await createTestTable(client)]
      table = createTable({ client: dynamodbClient(dynamodb), tableName, clock })
      client.middlewareStack.add(
        (next, context) => async (request) => {
          const first = context.commandName === 'TransactWriteItemsCommand' ? before : undefined
          if (first !== undefined) before = undefined
          await first?.()
          return next(request)
        },
        { step: 'initialize' },
      )
      const ports = dynamodbPorts({ client, tableName, outputs: createDiskOutputStore({ folder: '/nowhere' }), clock })
      open = () =>
        openFixture({ ...ports, peer: ports, clock, breakDown: async () => undefined, close: async () => undefined })
    })
    afterAll(() => client.destroy())

    async function expectTokens(isLate: boolean): Promise<void> {
      const fixture = await open()
      const { lease } = await startRun(fixture)
      let head = lease.head
      let tokens = 0
      for (let n = 0; n < 30; n++) {
        const round = roundAfter(fixture, lease, head, [], n)
        const usage = {
          inputTokens: 1,
          cachedInputTokens: 1,
          cacheWriteTokens: 1,
          outputTokens: 1,
          reasoningTokens: 1,
          totalTokens: 10,
        }
        await fixture.log.appendRound(lease, {
          ...round,
          assistant: { ...round.assistant, agent: `agent ${n}`, usage },
        })
        head = headOf(round)
        tokens += 10
      }
      const header = await table.read(headerKey(fixture.key))
      if (isLate && header !== undefined) before = () => table.write(moveCounters(lease, header))
      const end = endAfter(fixture, lease, head)
      await fixture.log.endRun(lease, end)
      const run = await fixture.reader.run(fixture.key, lease.runId)
      expect(run?.usage.totalTokens).toBe(tokens + (end.message?.usage?.totalTokens ?? 0))
    }

    test.each([false, true])(
      'the usage of a run is the sum of its completions, even if an update arrives late: %s',
      expectTokens,
    )
  })
})
