import { expect, test } from 'vitest'
import type { MessageRange } from '../../functions/domain/context.ts'
import type { Message } from '../../functions/domain/messages/message.ts'
import { NO_TOTALS } from '../../functions/domain/session.ts'
import { createIndexer } from '../../functions/history/indexer.ts'
import type { HistoryChange } from '../../functions/ports/history-writer.ts'
import type { MessageRow, RowChange } from '../../functions/ports/message-rows.ts'
import { writeLog } from '../generators/messages.ts'

const key = { tenant: 'acme', session: 's-1' }
const session = { ...key, agent: 'default', metadata: {}, createdAt: 0, updatedAt: 0, totals: NO_TOTALS }
const { log } = writeLog().user('hello').assistant('hi').user('thanks')
const [hello, hi] = log as [Message, Message]

interface Record {
  readonly change?: RowChange
  readonly range?: MessageRange
}

const rowOf = (message: Message): MessageRow => ({
  ...{ key, messageId: message.id, revision: 3, role: message.role, documents: 1 },
  message: async () => message,
})

test('a replacement indexes its messages with a revision newer than earlier changes and older than a removal', async () => {
  const written: HistoryChange[] = []
  const index = createIndexer<Record>({
    records: {
      ...{ sequence: () => '1', at: () => undefined, change: ({ change }) => change },
      superseded: ({ range }) => range && { key, range },
    },
    rows: {
      async *between({ range }) {
        for (const message of log) if (message.id >= range.from && message.id <= range.through) yield rowOf(message)
      },
    },
    reader: { replacements: async () => [{ by: `${hello.runId}Z`, from: hello.runId }] },
    sessions: { read: async () => ({ ...session, messages: { count: 0 } }) },
    outputs: { read: () => Promise.reject(new Error('no output was offloaded')) },
    writer: {
      async write(changes) {
        written.push(...changes)
        return changes.map(() => ({ done: true }))
      },
    },
    indexDeadLetters: { send: () => Promise.reject(new Error('nothing is dead-lettered here')) },
    clock: { now: () => 0 },
    logger: { warn: () => {} },
  })
  expect(await index([{ range: { from: hello.id, through: hi.id } }])).toEqual({ failed: [] })
  expect(written.map(({ messageId }) => messageId)).toEqual([hello.id, hi.id])
  expect(written.flatMap(({ documents }) => documents.map(({ superseded }) => superseded))).toEqual([true, true])
  const { message: _, ...removed } = { ...rowOf(hello), revision: 5 }
  await index([{ change: { removed } }])
  const [first, , last] = written.map(({ revision }) => revision)
  expect(first).toBeGreaterThan(1_000_000)
  expect(last).toBeGreaterThan(first ?? Infinity)
})
