/* Evidence, cloud: `status` succeeds without access to the index; `redrive` returns hints if the index refuses. */
import { expect, test } from 'vitest'
import { redrive } from '../../functions/history/redrive.ts'
import type { Message } from '../../functions/domain/messages/message.ts'
import { NO_TOTALS } from '../../functions/domain/session.ts'
import type { Session } from '../../functions/domain/session.ts'
import type { FailedChange } from '../../functions/ports/failed-indexing.ts'
import type { HistoryChange, DeadLetterSink, WriteOutcome } from '../../functions/ports/history-writer.ts'
import { writeLog } from '../generators/messages.ts'

const key = { tenant: 'acme', session: 's-1' }
const session: Session = {
  ...key,
  agent: 'default',
  metadata: {},
  createdAt: 0,
  updatedAt: 0,
  totals: NO_TOTALS,
  messages: { count: 0 },
}
const [one, two, gone] = writeLog().user('one').user('two').user('gone').log as [Message, Message, Message]

/** Rows and a writer in memory. Only the messages `one` and `two` have rows; the message `gone` has none. */
function harness(
  fate: (change: HistoryChange, indexDeadLetters: DeadLetterSink) => Promise<WriteOutcome> = async () => ({
    done: true,
  }),
) {
  const written: HistoryChange[] = []
  const forgotten: string[] = []
  const run = (...batches: readonly (readonly FailedChange[])[]) =>
    redrive(
      {
        rows: {
          async row(at, messageId) {
            const message = [one, two].find(({ id }) => id === messageId)
            return (
              message && {
                key: at,
                messageId,
                revision: 7,
                role: message.role,
                documents: 1,
                message: async () => message,
              }
            )
          },
        },
        sessions: { read: async () => session },
        reader: { replacements: async () => [] },
        outputs: { read: () => Promise.reject(new Error('no output was offloaded')) },
        writer: (indexDeadLetters) => ({
          async write(changes) {
            written.push(...changes)
            return Promise.all(changes.map((change) => fate(change, indexDeadLetters)))
          },
        }),
      },
      (async function* () {
        for (const [place, changes] of batches.entries())
          yield { changes, forget: async () => void forgotten.push(String(place)) }
      })(),
    )
  return { run, written, forgotten }
}

const changed = ({ id }: Message): FailedChange => ({ key, messageId: id })
const removed = ({ id }: Message): FailedChange => ({
  ...changed({ id } as Message),
  removed: { key, messageId: id, revision: 3, role: 'user', documents: 1 },
})

test('dead letters are indexed once each from their current rows, and then removed', async () => {
  const { run, written, forgotten } = harness()
  expect(await run([changed(one), changed(one)], [changed(two)])).toEqual({ done: 2, failed: [] })
  expect(written.map(({ messageId, revision }) => [messageId, revision])).toEqual([
    [one.id, 7],
    [two.id, 7],
  ])
  expect(forgotten).toEqual(['0', '1'])
})

test('a dead-lettered removal removes the documents, unless the row exists', async () => {
  const { run, written } = harness()
  await run([changed(gone), removed(gone), removed(one)])
  expect(new Map(written.map(({ messageId, documents }) => [messageId, documents.length]))).toEqual(
    new Map([
      [gone.id, 0],
      [one.id, 1],
    ]),
  )
})

test('a dead letter of a deleted message needs no indexing', async () => {
  const { run, written, forgotten } = harness()
  expect(await run([changed(gone)])).toEqual({ done: 1, failed: [] })
  expect([written, forgotten]).toEqual([[], ['0']])
})

test('a document that fails again is reported, remains dead-lettered, and blocks no other', async () => {
  const busy = harness(async ({ messageId }) =>
    messageId === one.id ? { done: false, error: 'busy' } : { done: true },
  )
  expect(await busy.run([changed(one)], [changed(two)])).toEqual({
    done: 1,
    failed: [{ messageId: one.id, error: 'busy' }],
  })
  expect(busy.forgotten).toEqual(['1'])
  const refused = harness(async ({ messageId }, indexDeadLetters) => {
    if (messageId === two.id) await indexDeadLetters.send({ ...key, messageId, error: 'no such date' })
    return { done: true }
  })
  expect(await refused.run([changed(one), changed(two)])).toEqual({
    done: 1,
    failed: [{ messageId: two.id, error: 'no such date' }],
  })
  expect(refused.forgotten).toEqual([])
})

test('an index that refuses requests ends the redrive, which returns the result so far', async () => {
  const refusal = new Error('the index refuses')
  let writes = 0
  const { run, forgotten } = harness(async () => {
    if (writes++ > 0) throw refusal
    return { done: true }
  })
  expect(await run([changed(one)], [changed(two)], [changed(one)])).toEqual({ done: 1, failed: [], stoppedBy: refusal })
  expect(forgotten).toEqual(['0'])
  expect(writes).toBe(2)
})
