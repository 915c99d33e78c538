import { afterEach, beforeEach, expect, test } from 'vitest'
import type { StreamRecord } from '../../../functions/adapters/dynamodb/stream/row-records.ts'
import { TooltrailError } from '../../../functions/domain/errors.ts'
import type { SessionKey } from '../../../functions/domain/session.ts'
import type { HistoryChange, DeadLetter } from '../../../functions/ports/history-writer.ts'
import { createStreamHandler } from '../../../functions/runtime/aws/indexing.ts'
import { openHarness } from '../../agent/harness.ts'
import type { Harness } from '../../agent/harness.ts'

const DAY_MS = 86_400_000
const MESSAGE = '01JD2Q8N4T6W8Y0A2C4E6G8J0M'
const expiring = { tenant: 'default', session: 'short-lived' }

let harness: Harness
let ahead: number
beforeEach(async () => {
  ahead = 0
  harness = await openHarness({
    script: [],
    clock: {
      now: () => Date.now() + ahead,
      sleep: (milliseconds) => new Promise((done) => setTimeout(done, milliseconds)),
    },
  })
  await harness.ports.sessions.create({ ...expiring, agent: 'default', metadata: {}, ttlDays: 1 })
})
afterEach(() => harness.close())

/** Opens the handler on real rows, with an index that accepts everything except changes of the session `refused`. */
function open(options: { readonly refused?: string; readonly queueFails?: boolean } = {}) {
  const written: HistoryChange[] = []
  const deadLettered: DeadLetter[] = []
  const hints: SessionKey[] = []
  const handle = createStreamHandler({
    ...harness.ports,
    rows: { async *between() {} },
    indexDeadLetters: { send: async (message) => void deadLettered.push(message) },
    queue: {
      send: async (hint) => {
        if (options.queueFails === true) throw new TooltrailError('storage_failed', 'no queue')
        hints.push(hint)
      },
    },
    writer: {
      write: async (changes) => {
        written.push(...changes)
        return changes.map(({ key }) =>
          key.session === options.refused ? { done: false, error: 'busy' } : { done: true },
        )
      },
    },
  })
  return { handle, written, deadLettered, hints }
}

const at = (sequence: string, dynamodb: NonNullable<StreamRecord['dynamodb']>): StreamRecord => ({
  dynamodb: { SequenceNumber: sequence, ...dynamodb },
})
const itemOf = (key: SessionKey, sk: string, more: object = {}) => ({
  pk: { S: `S#${key.tenant}#${key.session}` },
  sk: { S: sk },
  ...more,
})
const message = { role: { S: 'user' }, rev: { N: '1' }, documents: { N: '1' } }
const expiryRemoved = (sequence: string) => at(sequence, { OldImage: itemOf(expiring, '#EXPIRY', { due: { N: '1' } }) })
const messageRemoved = (sequence: string, key: SessionKey) => at(sequence, { OldImage: itemOf(key, MESSAGE, message) })

test('an expired session is deleted, and a hint starts the remaining work', async () => {
  const { handle, hints } = open()
  ahead = 2 * DAY_MS
  expect(await handle([expiryRemoved('1')])).toEqual({ failed: [] })
  expect(await harness.ports.deletion.state(expiring)).toMatchObject({ removed: false })
  expect(hints).toEqual([expiring])
})

test('a session is kept if it was used after the removal of its expiry record', async () => {
  const { handle, hints } = open()
  expect(await handle([expiryRemoved('1')])).toEqual({ failed: [] })
  expect(await harness.ports.sessions.read(expiring)).toBeDefined()
  expect(hints).toEqual([])
})

test('a rewritten expiry record and records of other items trigger no deletion', async () => {
  const { handle, hints, written } = open()
  ahead = 2 * DAY_MS
  const records = [
    at('1', { OldImage: itemOf(expiring, '#EXPIRY'), NewImage: itemOf(expiring, '#EXPIRY') }),
    at('2', { NewImage: itemOf(expiring, '#SESSION') }),
    at('3', { OldImage: itemOf(expiring, '#DETAILS') }),
    at('4', {}),
    {},
  ]
  expect(await handle(records)).toEqual({ failed: [] })
  expect([hints, written]).toEqual([[], []])
})

test('the earliest failed record is reported, whatever its kind', async () => {
  ahead = 2 * DAY_MS
  const records = [messageRemoved('1', harness.key), messageRemoved('2', expiring), expiryRemoved('3')]
  expect(await open().handle(records)).toEqual({ failed: [] })
  expect(await open({ refused: expiring.session }).handle(records)).toEqual({ failed: ['2'] })
})

test('an expiry record that failed is reported for a retry, which does not start a second deletion', async () => {
  ahead = 2 * DAY_MS
  const records = [messageRemoved('1', harness.key), expiryRemoved('2')]
  expect(await open({ queueFails: true }).handle(records)).toEqual({ failed: ['2'] })
  const { handle, hints } = open()
  expect(await handle(records)).toEqual({ failed: [] })
  // The tombstone is due: the sweeper finds it.
  expect(hints).toEqual([])
  expect(await harness.ports.janitor.due(harness.ports.clock.now(), 10)).toMatchObject([{ key: expiring }])
})

test('a row with a message key but no valid message is dead-lettered and blocks no other row', async () => {
  const { handle, deadLettered, written } = open()
  const broken = at('1', { NewImage: itemOf(harness.key, MESSAGE, message) })
  expect(await handle([broken, messageRemoved('2', expiring)])).toEqual({ failed: [] })
  expect(deadLettered).toMatchObject([{ ...harness.key, messageId: MESSAGE }])
  expect(written).toHaveLength(1)
})
