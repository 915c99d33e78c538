/*
 * DynamoDB and SQLite accept the same. The first completion after an import numbers all loaded results that have sources and no
 * numbers (`giveNumbers`). DynamoDB keeps these numbers in one item of at most 400 KB (`putNumbers`): with some 6,000 results each
 * write is refused. The failure's own message records the same numbers, so the run cannot end as failed either: the model is asked
 * and paid again at each takeover, and the run ends as `crashed_repeatedly`, as does every later run. Needs Java: DynamoDB Local.
 *
 * Suite: test/adapters/dynamodb/
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ClosedMessage } from '../../functions/domain/messages/closed-message.ts'
import { openHarness } from '../agent/harness.ts'
import type { Harness } from '../agent/harness.ts'
import { dynamodbClient } from '../engines/clients.ts'
import { withEngines } from '../engines/with-engines.ts'
import { endAfter, openFixture, startRun } from '../contracts/session-fixture.ts'
import type { Stores } from '../contracts/stores.ts'
import { createTestTable, dynamodbEngine, dynamodbPorts } from '../adapters/dynamodb/engine.ts'

const RESULTS = 7_000
const IN_A_ROUND = 50

function* searches(): Generator<ClosedMessage> {
  yield { role: 'user', parts: [{ type: 'text', text: 'look all of it up' }] } as ClosedMessage
  for (let round = 0; round < RESULTS / IN_A_ROUND; round++) {
    const toolCalls = Array.from({ length: IN_A_ROUND }, (_, n) => ({ id: `c${n}`, name: 'find', arguments: '{}' }))
    const of = {
      role: 'assistant',
      parts: toolCalls.map(({ id }) => ({ type: 'tool_call', id })),
      toolCalls,
    } as ClosedMessage
    yield of
    for (let sequence = 0; sequence < IN_A_ROUND; sequence++)
      yield {
        ...{ role: 'tool', of, sequence, status: 'completed', mediaType: 'text/plain; charset=utf-8' },
        parts: [{ type: 'text', text: 'found' }],
        sources: [{ title: 'a page', url: 'https://example.com' }],
      } as ClosedMessage
  }
  yield { role: 'assistant', parts: [{ type: 'text', text: 'all of it' }], toolCalls: [] } as ClosedMessage
}

withEngines(['dynamodb'], ({ dynamodb }) => {
  describe('a run after an import with many sources', () => {
    let onDynamo: Harness
    let onSqlite: Harness
    let stores: Stores
    const options = {
      script: [{ text: 'answer' }],
      policies: { contextTokens: 4_000_000, consolidation: false },
    } as const
    beforeAll(async () => {
      const client = dynamodbClient(dynamodb)
      const tableName = await createTestTable(client)
      stores = await dynamodbEngine(dynamodb).open()
      onSqlite = await openHarness(options)
      onDynamo = await openHarness({
        ...options,
        change: (ports) => ({
          ...ports,
          ...dynamodbPorts({ client, tableName, outputs: ports.outputs, clock: ports.clock }),
        }),
      })
      await onDynamo.ports.sessions.create({ ...onDynamo.key, agent: 'default', metadata: {} })
    }, 120_000)
    afterAll(async () => void (await Promise.all([onDynamo.close(), onSqlite.close(), stores.close()])))

    test.fails('the end of a run with numbers for as many results is stored', async () => {
      const fixture = await openFixture(stores)
      const { lease } = await startRun(fixture)
      const end = endAfter(fixture, lease, lease.head)
      const numbered = Array.from({ length: RESULTS }, (_, n) => ({ message: lease.head ?? '', from: n + 1, count: 1 }))
      const message = end.message && { ...end.message, numbered }
      await expect(fixture.log.endRun(lease, { ...end, ...(message && { message }) })).resolves.toBeDefined()
    })

    async function expectCompleted(engine: string): Promise<void> {
      const harness = engine === 'SQLite' ? onSqlite : onDynamo
      await harness.service.importMessages(harness.session, searches(), {})
      const runId = await harness.submit('and now?')
      await expect
        .poll(async () => (await harness.ports.reader.run(harness.key, runId))?.endedAt, { timeout: 20_000 })
        .toBeDefined()
      expect((await harness.ports.reader.run(harness.key, runId))?.error).toBeUndefined()
    }

    test.each(['SQLite'])(
      'a run completes after an import with many sources on %s',
      { timeout: 240_000 },
      expectCompleted,
    )
    test.fails.each(['DynamoDB'])(
      'a run completes after an import with many sources on %s',
      { timeout: 240_000 },
      expectCompleted,
    )
  })
})
