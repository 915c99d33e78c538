/* Evidence, search: A record that always fails is dead-lettered, and delays other records by at most ten minutes. */
import { afterEach, expect, test } from 'vitest'
import { createIndexer } from '../../functions/history/indexer.ts'
import { TooltrailError } from '../../functions/domain/errors.ts'
import type { Message } from '../../functions/domain/messages/message.ts'
import { NO_TOTALS, type Session } from '../../functions/domain/session.ts'
import { documentParts } from '../../functions/search/documents/document-parts.ts'
import { historyDocuments, mostDocuments } from '../../functions/search/documents/documents.ts'
import type { HistoryChange, DeadLetter, WriteOutcome } from '../../functions/ports/history-writer.ts'
import type { ByteRange } from '../../functions/ports/output-store.ts'
import { MEMORY_RECORDS, type MemoryRecord as Record } from './memory-records.ts'
import { callTo, writeLog } from '../generators/messages.ts'

const key = { tenant: 'acme', session: 's-1' }
const session: Session = {
  ...key,
  agent: 'default',
  owner: 'ann',
  metadata: {},
  createdAt: 0,
  updatedAt: 0,
  totals: NO_TOTALS,
  messages: { count: 0 },
}

const NOW = 1_800_000_000_000
/** A removal adds this number to the revision of its record. */
const REMOVED = 2 ** 41
const SECRET = `ghp_${'aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zCaB3d'}`

type Fate = (change: HistoryChange) => WriteOutcome

let now = NOW
afterEach(() => void (now = NOW))

/** An indexer on ports in memory. `lives`: for each read of the session, whether the session is live. */
function harness(
  options: { readonly lives?: readonly boolean[]; readonly fate?: Fate; readonly output?: Uint8Array } = {},
) {
  const written: HistoryChange[] = []
  const deadLettered: DeadLetter[] = []
  const ranges: (ByteRange | undefined)[] = []
  const lives = [...(options.lives ?? [true])]
  const index = createIndexer<Record>({
    ...MEMORY_RECORDS,
    clock: { now: () => now },
    sessions: { read: async () => ((lives.length > 1 ? lives.shift() : lives[0]) === true ? session : undefined) },
    outputs: {
      async read(_key, name, range) {
        ranges.push(range)
        if (options.output === undefined) throw new TooltrailError('output_not_found', `no ${name}`)
        return options.output.subarray(range?.start, (range?.end ?? options.output.length - 1) + 1)
      },
    },
    writer: {
      async write(changes) {
        written.push(...changes)
        return changes.map((change) => options.fate?.(change) ?? { done: true })
      },
    },
    indexDeadLetters: { send: async (message) => void deadLettered.push(message) },
    logger: { warn: () => {} },
  })
  return { index, written, deadLettered, ranges }
}

const { log } = writeLog()
  .user(`hello, the password is ${SECRET}`)
  .assistant('let me look', callTo('shell', '{"cmd":"ls"}'))
  .result(0, 'a.txt', { call: 'shell(cmd="ls")' })
  .user('thanks')
const [hello, look, listing, thanks] = log as [Message, Message, Message, Message]

const stored = (sequence: string, message: Message, revision = 1): Record => ({
  sequence,
  change: {
    stored: {
      key,
      messageId: message.id,
      revision,
      role: message.role,
      documents: mostDocuments(message),
      message: async () => message,
    },
  },
})
const removed = (sequence: string, message: Message, revision: number, documents: number): Record => ({
  sequence,
  change: { removed: { key, messageId: message.id, revision, role: message.role, documents } },
})
const failing =
  (message: Message): Fate =>
  ({ messageId }) =>
    messageId === message.id ? { done: false, error: 'busy' } : { done: true }

test('messages are indexed with their revision and their session’s owner, and without secrets', async () => {
  const { index, written } = harness()
  expect(await index([stored('1', hello, 3)])).toEqual({ failed: [] })
  expect(written).toMatchObject([{ key, messageId: hello.id, revision: 3, removed: [] }])
  expect(written[0]?.documents).toMatchObject([{ part: 'u', owner: 'ann', text: 'hello, the password is [redacted]' }])
})

test('records of other rows are ignored', async () => {
  const { index, written } = harness()
  expect(await index([{ sequence: '1', change: undefined }])).toEqual({ failed: [] })
  expect(written).toEqual([])
})

test('the earliest failed record is reported, and the other records are written', async () => {
  const { index, written } = harness({ fate: failing(listing) })
  expect(await index([stored('1', hello), stored('2', listing), stored('3', thanks)])).toEqual({ failed: ['2'] })
  expect(written.map(({ messageId }) => messageId).toSorted()).toEqual([hello.id, listing.id, thanks.id])
})

test('only the newest state of a message in a batch is written, whatever the order', async () => {
  const { index, written } = harness()
  await index([stored('1', listing, 2), stored('2', listing, 5), stored('3', listing, 1)])
  expect(written.map(({ revision }) => revision)).toEqual([5])
})

test('if the newest state of a message cannot be written, the first record of that message is reported', async () => {
  const { index } = harness({ fate: failing(listing) })
  expect(await index([stored('1', hello), stored('2', listing, 1), stored('3', listing, 2)])).toEqual({ failed: ['2'] })
})

test('the removal of a row writes a newer revision that removes all documents that the row can have', async () => {
  const { index, written } = harness({ lives: [false] })
  await index([stored('1', listing, 2), removed('2', listing, 2, 2)])
  expect(written).toEqual([
    { key, messageId: listing.id, revision: 2 + REMOVED, documents: [], removed: ['c', 'c1', 'r0', 'r1'] },
  ])
})

test('a late record of a deleted session becomes a removal that is newer than its documents', async () => {
  const { index, written } = harness({ lives: [false] })
  expect(await index([stored('1', listing, 2), stored('2', hello)])).toEqual({ failed: [] })
  expect(written).toEqual([
    { key, messageId: listing.id, revision: 2 + REMOVED, documents: [], removed: ['c', 'c1', 'r0', 'r1'] },
    { key, messageId: hello.id, revision: 1 + REMOVED, documents: [], removed: ['u'] },
  ])
})

test('a late record of a deleted session is retried if its removal fails', async () => {
  const { index } = harness({ lives: [false], fate: () => ({ done: false, error: 'busy' }) })
  expect(await index([stored('4', listing)])).toEqual({ failed: ['4'] })
})

test('documents written while their session was being deleted are removed again', async () => {
  const { index, written } = harness({ lives: [true, false] })
  expect(await index([stored('1', listing, 2)])).toEqual({ failed: [] })
  expect(written).toHaveLength(2)
  expect(written[1]).toEqual({ key, messageId: listing.id, revision: 2 + REMOVED, documents: [], removed: ['c', 'r0'] })
})

test('a record fails if its documents of a deleted session cannot be removed again', async () => {
  const fate: Fate = ({ documents }) => (documents.length === 0 ? { done: false, error: 'busy' } : { done: true })
  const { index } = harness({ lives: [true, false], fate })
  expect(await index([stored('7', hello)])).toEqual({ failed: ['7'] })
})

test('an offloaded result is indexed in chunks and completely, even if chunks split its characters', async () => {
  const text = `start ${'東京 '.repeat(650_000)}end`
  const output = Buffer.from(text)
  const { index, written, ranges } = harness({ output })
  const whole = { bytes: output.length, lines: 1, sha256: '', mediaType: 'text/plain', object: 'object-1' }
  await index([stored('1', { ...listing, output: whole } as Message)])
  expect(ranges.length).toBe(Math.ceil(output.length / 524_288))
  const documents = written.flatMap((change) => change.documents)
  const texts = documents.filter(({ role }) => role === 'tool_result').map((document) => document.text)
  expect(documents.map(({ part }) => part)).toEqual(['c', ...texts.map((_, index) => `r${index}`)])
  expect(texts[0]?.startsWith('start 東京')).toBe(true)
  expect(texts.at(-1)?.endsWith('東京 end')).toBe(true)
  expect(texts.join('')).not.toContain('\uFFFD')
})

test('a missing output is reported and its preview indexed, unless the session is deleted', async () => {
  const gone = {
    ...listing,
    output: { bytes: 9, lines: 1, sha256: '', mediaType: 'text/plain', object: 'gone' },
  } as Message
  const alive = harness()
  expect(await alive.index([stored('1', gone), stored('2', thanks)])).toEqual({ failed: [] })
  expect(alive.deadLettered).toMatchObject([{ ...key, messageId: listing.id }])
  expect(JSON.stringify(alive.written)).toContain('r0')
  expect(alive.written.map(({ messageId }) => messageId)).toEqual([listing.id, thanks.id])
  const deleted = harness({ lives: [true, false] })
  await deleted.index([stored('1', gone)])
  expect(deleted.deadLettered).toEqual([])
})

test.each([
  ['is cut off', async () => JSON.parse('{') as Message],
  ['has nothing in it', () => Promise.reject(new Error('message has no body'))],
  ['is of no role', async () => ({ id: hello.id }) as Message],
])('a row that %s is dead-lettered and blocks no other', async (_, message) => {
  const { index, deadLettered, written } = harness()
  const broken: Record = {
    sequence: '1',
    change: { stored: { key, messageId: hello.id, revision: 1, role: 'user', documents: 1, message } },
  }
  expect(await index([broken, stored('2', thanks)])).toEqual({ failed: [] })
  expect(deadLettered).toMatchObject([{ messageId: hello.id }])
  expect(written).toHaveLength(1)
})

test('a record fails, to be retried later, if the store does not respond', async () => {
  const { index, deadLettered } = harness()
  expect(await index([unread('1', look, NOW)])).toEqual({ failed: ['1'] })
  expect(deadLettered).toEqual([])
})

const unread = (sequence: string, message: Message, at: number): Record => ({
  sequence,
  at,
  change: {
    stored: {
      key,
      messageId: message.id,
      revision: 1,
      role: message.role,
      documents: 1,
      message: () => Promise.reject(new TooltrailError('storage_failed', 'access denied', { retryable: true })),
    },
  },
})

test('a record that failed alone for ten minutes is dead-lettered and no longer blocks others', async () => {
  const { index, deadLettered, written } = harness()
  expect(await index([unread('1', look, NOW - 540_000), stored('2', thanks)])).toEqual({ failed: ['1'] })
  expect(deadLettered).toEqual([])
  now += 120_000
  expect(await index([unread('1', look, NOW - 540_000), stored('2', thanks)])).toEqual({ failed: [] })
  expect(deadLettered).toMatchObject([{ ...key, messageId: look.id, error: expect.stringContaining('access denied') }])
  expect(written.map(({ messageId }) => messageId)).toEqual([thanks.id, thanks.id])
})

test('a record that is old when it first fails, as after an outage, is retried for a minute', async () => {
  const { index, deadLettered } = harness()
  const batch = [unread('1', look, NOW - 86_400_000), stored('2', thanks)]
  expect(await index(batch)).toEqual({ failed: ['1'] })
  now += 59_000
  expect(await index(batch)).toEqual({ failed: ['1'] })
  expect(deadLettered).toEqual([])
  now += 2_000
  expect(await index(batch)).toEqual({ failed: [] })
  expect(deadLettered).toMatchObject([{ messageId: look.id }])
})

test('records are not dead-lettered while the index fails, or while every record is unreadable', async () => {
  const { index, deadLettered } = harness({ fate: failing(thanks) })
  const old = NOW - 6_000_000
  expect(await index([unread('1', look, old), unread('2', listing, old)])).toEqual({ failed: ['1'] })
  expect(await index([stored('1', hello), { ...stored('2', thanks), at: old }])).toEqual({ failed: ['2'] })
  expect(deadLettered).toEqual([])
})

test('records not written by the deadline are redelivered; a record that alone takes longer is dead-lettered', async () => {
  const output = Buffer.from('line of text\n'.repeat(1_000_000))
  const whole = { bytes: output.length, lines: 1, sha256: '', mediaType: 'text/plain', object: 'object-1' }
  const long = { ...listing, output: whole } as Message
  /** Creates an indexer with the signal of a deadline, which passes during the first write. */
  const hurried = () => {
    const over = new AbortController()
    const fate: Fate = () => {
      over.abort()
      return { done: true }
    }
    return { ...harness({ output, fate }), signal: over.signal }
  }
  const first = hurried()
  const batch = [stored('1', hello), stored('2', long), stored('3', thanks)]
  expect(await first.index(batch, first.signal)).toEqual({ failed: ['2'] })
  expect(first.deadLettered).toEqual([])
  const alone = hurried()
  expect(await alone.index(batch.slice(1), alone.signal)).toEqual({ failed: [] })
  expect(alone.deadLettered).toMatchObject([{ messageId: listing.id, error: expect.stringContaining('no time') }])
})

test('an index that does not respond fails the batch from its first record', async () => {
  const { index } = harness({
    fate: () => {
      throw new TooltrailError('search_unavailable', 'asleep', { retryable: true })
    },
  })
  expect(await index([{ sequence: '0', change: undefined }, stored('1', hello), stored('2', thanks)])).toEqual({
    failed: ['1'],
  })
})

test('a removal names all documents that a message can have', () => {
  const long = 'word '.repeat(5_000)
  for (const message of log) {
    const documents = historyDocuments(message, { key }, { text: long, call: message.role === 'tool' ? long : '' })
    const names = documentParts(message.role, documents.length)
    for (const { part } of documents) expect(names).toContain(part)
  }
})
