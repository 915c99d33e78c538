import { DynamoDBClient, type TransactWriteItem } from '@aws-sdk/client-dynamodb'
import { fc } from '../../../generators/seeded.ts'
import { describe, expect, test } from 'vitest'
import { batchOf } from '../../../../functions/adapters/dynamodb/log/messages/message-item.ts'
import { createDynamoRunLog } from '../../../../functions/adapters/dynamodb/log/runs/run-log.ts'
import { planSpill, WRITE_LIMIT } from '../../../../functions/adapters/dynamodb/log/messages/spill-plan.ts'
import { nextIds } from '../../../../functions/domain/ids.ts'
import type { ToolMessage } from '../../../../functions/domain/messages/message.ts'
import type { OutputStore } from '../../../../functions/ports/output-store.ts'
import type { Round } from '../../../../functions/ports/run-log.ts'
import { createManualClock } from '../../../contracts/stores.ts'
import { itemBytes, valueBytes } from '../item-size.ts'

/** DynamoDB's limits of one item, and of one atomic write. */
const ITEM_BYTES = 400 * 1024
const WRITE_BYTES = 4 * 1024 * 1024
const WRITE_ITEMS = 100

describe('texts of one write', () => {
  const texts = fc.array(fc.record({ bytes: fc.nat(700_000), limit: fc.constantFrom(51_200, 153_600) }), {
    maxLength: 70,
  })

  test('stay in their items only if each text is below its limit and the whole write fits', () => {
    fc.assert(
      fc.property(texts, (planned) => {
        const spilled = planSpill(planned)
        const kept = planned.filter((_, place) => spilled[place] === false)
        expect(kept.every(({ bytes, limit }) => bytes <= limit)).toBe(true)
        expect(kept.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(WRITE_LIMIT)
      }),
    )
  })

  test('are spilled only if a row or the whole write would exceed its limit', () => {
    fc.assert(
      fc.property(texts, (planned) => {
        const spilled = planSpill(planned)
        const kept = planned.reduce((sum, { bytes }, place) => (spilled[place] === true ? sum : sum + bytes), 0)
        for (const [place, { bytes, limit }] of planned.entries())
          if (spilled[place] === true && bytes <= limit) expect(kept + bytes).toBeGreaterThan(WRITE_LIMIT)
      }),
    )
  })
})

/** Texts whose sizes are around the limits. Each repeats one character of one byte or of three bytes. */
const content = fc
  .tuple(fc.constantFrom('x', '漢', '\u0000', '"'), fc.constantFrom(0, 10, 25_000, 51_200, 150_000, 400_000))
  .map(([letter, length]) => letter.repeat(length))

function roundOf(completion: string, calls: readonly string[]): Round {
  const [id = '', ...ids] = nextIds(undefined, 1, calls.length + 1)
  const base = { runId: 'run', agent: 'a', round: 0, createdAt: 1 }
  const tools = calls.map((call, sequence): ToolMessage => ({
    ...base,
    ...{ id: ids[sequence] ?? '', role: 'tool', assistantMessageId: id, toolCallId: `c${sequence}`, toolName: 't' },
    ...{ call, sequence, status: 'running', parts: [], generation: 1 },
  }))
  const toolCalls = calls.map((call, place) => ({ id: `c${place}`, name: 't', arguments: call }))
  return {
    assistant: { ...base, id, role: 'assistant', parts: [{ type: 'text', text: completion }], toolCalls },
    tools,
  }
}

/** Creates a client that records its writes instead of sending them. */
function recordingClient(): { client: DynamoDBClient; writes: (readonly TransactWriteItem[])[] } {
  const writes: (readonly TransactWriteItem[])[] = []
  const client = new DynamoDBClient({ region: 'local', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } })
  client.middlewareStack.add(
    () => async (input) => {
      const { TransactItems } = input.input as { TransactItems: readonly TransactWriteItem[] }
      writes.push(TransactItems)
      return { output: { $metadata: {} }, response: {} }
    },
    { step: 'initialize' },
  )
  return { client, writes }
}

const outputs: OutputStore = {
  put: async () => {},
  read: async () => new Uint8Array(),
  stat: async () => undefined,
  link: async () => undefined,
  remove: async () => undefined,
  removeAll: async () => 0,
}

// The rounds have many megabytes, so these tests are slow on a busy machine.
describe('an atomic write', () => {
  test('with 64 calls of any size stays below 100 items, 4 MB, and 400 KB an item', async () => {
    const calls = fc.array(content, { maxLength: 64 })
    await fc.assert(
      fc.asyncProperty(content, calls, async (completion, sizes) => {
        const { client, writes } = recordingClient()
        const log = createDynamoRunLog({ client, tableName: 't', outputs, clock: createManualClock() })
        const lease = { tenant: 't', session: 's', generation: 1, owner: 'o', runId: 'run', until: 1, head: undefined }
        await log.appendRound(lease, roundOf(completion, sizes))
        const [actions = []] = writes
        expect(actions.length).toBeLessThanOrEqual(WRITE_ITEMS)
        const bytes = actions.map(({ Put, Update }) =>
          Put?.Item === undefined
            ? Object.values(Update?.ExpressionAttributeValues ?? {}).reduce(
                (sum, value) => sum + valueBytes(value),
                2_000,
              )
            : itemBytes(Put.Item),
        )
        expect(Math.max(...bytes)).toBeLessThan(ITEM_BYTES)
        expect(bytes.reduce((sum, each) => sum + each)).toBeLessThan(WRITE_BYTES)
      }),
      { numRuns: 25 },
    )
  })

  test('includes at least one changed row, and at most as many rows as fit', () => {
    fc.assert(
      fc.property(fc.array(content, { minLength: 1, maxLength: 200 }), (calls) => {
        const { tools } = roundOf('', calls)
        const batch = batchOf(tools)
        expect(batch).toEqual(tools.slice(0, batch.length))
        expect(batch.length).toBeGreaterThan(0)
        expect(batch.length).toBeLessThanOrEqual(WRITE_ITEMS - 6)
        if (batch.length > 1) expect(Buffer.byteLength(JSON.stringify(batch))).toBeLessThan(WRITE_BYTES - 1_000_000)
      }),
      { numRuns: 25 },
    )
  })
})
