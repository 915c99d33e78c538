/* Evidence, search: The index equals the log even if stream records are doubled, shuffled, delayed or failed. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDynamoSessionDeletion } from '../../functions/adapters/dynamodb/log/sessions/deletion/session-deletion.ts'
import type { StreamRecord } from '../../functions/adapters/dynamodb/stream/row-records.ts'
import { redrive } from '../../functions/history/redrive.ts'
import { NO_TOTALS } from '../../functions/domain/session.ts'
import type { SessionKey } from '../../functions/domain/session.ts'
import { createIndexer } from '../../functions/history/indexer.ts'
import type { ProxiedRequest, Fate } from '../adapters/opensearch/proxy.ts'
import { withEngines } from '../engines/with-engines.ts'
import { isWhole } from '../whole.ts'
import { writeCorpus, type WrittenCorpus } from './index-corpus.ts'
import { openIndexHarness, type IndexHarness } from './index-harness.ts'

/**
 * Number of messages. `MESSAGES=20000 npm run test:engines -- test/history/index-equals-table.engine.test.ts` runs the whole
 * proof.
 */
const MESSAGES = Number(process.env['MESSAGES'] ?? (isWhole ? 2_000 : 1_000))
const DELETED_SESSIONS = Math.min(8, MESSAGES / 250)
const BATCH = 100
const MAX_DELIVERIES = 200

withEngines(['dynamodb', 'opensearch'], (endpoints) => {
  describe(`the index of ${MESSAGES} messages after doubled, shuffled, delayed, failed and unreadable records`, () => {
    let harness: IndexHarness
    let corpus: WrittenCorpus
    let deleted: readonly SessionKey[]
    let records: readonly StreamRecord[]
    let settled: Map<string, unknown>
    const random = seeded(20_260_101)

    beforeAll(async () => {
      harness = await openIndexHarness(endpoints)
      corpus = await writeCorpus(harness.table, MESSAGES)
      deleted = corpus.sessions.filter((_, place) => place % Math.ceil(corpus.sessions.length / DELETED_SESSIONS) === 1)
      const deletion = createDynamoSessionDeletion(harness.table)
      for (const key of deleted) {
        await deletion.tombstone(key)
        for (let more = true; more;) more = (await deletion.removeRows(key, 500)).more
      }
      records = await readStream(harness)
      // This index forgets removals at once. By default, an index remembers them for a minute.
      await harness.direct.indices.putSettings({ index: harness.alias, body: { index: { gc_deletes: '0s' } } })
      harness.proxy.decide((request) => unlucky(request, random))
      await deliver(harness, disordered(records, random))
      harness.proxy.decide(() => 'pass')
      settled = await harness.contents()
    }, 1_200_000)
    afterAll(() => harness.stop())

    test('contains documents of every indexable message, and none of a deleted session', () => {
      expect(settled.size).toBeGreaterThan(MESSAGES)
      const sessions = new Set([...settled.values()].map((source) => (source as SessionKey).session))
      expect(sessions.size).toBe(corpus.sessions.length - deleted.length)
      for (const { session } of deleted) expect(sessions).not.toContain(session)
    })

    test('causes dead letters only for messages that can never be indexed', () => {
      const gone = new Set(deleted.map(({ session }) => session))
      const wanted = [...corpus.deadLettered].filter(([, session]) => !gone.has(session)).map(([id]) => id)
      expect([...new Set(harness.deadLettered.map(({ messageId }) => messageId))].toSorted()).toEqual(wanted.toSorted())
      expect(wanted.length).toBeGreaterThan(0)
    })

    test('contains no secret', () => {
      expect(JSON.stringify([...settled.values()])).not.toContain('a1B2'.repeat(9))
      expect(JSON.stringify([...settled.values()])).toContain('[redacted]')
    })

    test('equals a rebuild from the table', async () => {
      await harness.rebuild()
      expect(await harness.contents()).toEqual(settled)
    })

    test('still excludes deleted sessions after their records are retried', async () => {
      const ofDeleted = records.filter(({ dynamodb }) => {
        const row = dynamodb?.NewImage ?? dynamodb?.OldImage
        return deleted.some(({ tenant, session }) => row?.['pk']?.S === `S#${tenant}#${session}`)
      })
      expect(ofDeleted.length).toBeGreaterThan(0)
      await deliver(harness, batched(ofDeleted.filter(({ dynamodb }) => dynamodb?.NewImage !== undefined)))
      const changes = deleted.flatMap((key) =>
        ofDeleted.slice(0, 20).map(({ dynamodb }) => ({ key, messageId: dynamodb?.NewImage?.['sk']?.S ?? '' })),
      )
      const deadLetter = (async function* () {
        yield { changes, forget: async () => {} }
      })()
      await redrive({ ...harness.dependencies, writer: () => harness.writer }, deadLetter)
      expect(await harness.contents()).toEqual(settled)
    })

    test('loses documents that a crashed indexer wrote for a deleted session, when the records are retried', async () => {
      const ofDeleted = records.filter(({ dynamodb }) =>
        deleted.some(({ tenant, session }) => dynamodb?.NewImage?.['pk']?.S === `S#${tenant}#${session}`),
      )
      // A rebuilt index remembers no removal, like an index after a minute.
      await harness.rebuild()
      // This indexer read the sessions before their deletion, and crashed before it read them again.
      const live = async (key: SessionKey) => ({ ...key, ...LIVE })
      const indexDeadLetters = { send: async () => {} }
      const index = createIndexer({ ...harness.dependencies, sessions: { read: live }, indexDeadLetters })
      for (const batch of batched(ofDeleted)) expect(await index(batch)).toEqual({ failed: [] })
      expect((await harness.contents()).size).toBeGreaterThan(settled.size)
      await deliver(harness, batched(ofDeleted))
      expect(await harness.contents()).toEqual(settled)
    })
  })
})

const LIVE = {
  agent: 'default',
  metadata: {},
  createdAt: 0,
  updatedAt: 0,
  totals: NO_TOTALS,
  messages: { count: 0 },
}

/** All records of the table's stream, as passed on by the poller. */
async function readStream(harness: IndexHarness): Promise<StreamRecord[]> {
  const found: StreamRecord[] = []
  const poller = harness.poll(async (batch) => {
    found.push(...batch)
    return { failed: [] }
  })
  await poller.caughtUp()
  await poller.stop()
  return found
}

/** Puts the records into random order. A tenth is repeated, and a tenth is late. */
function disordered(records: readonly StreamRecord[], random: () => number): StreamRecord[][] {
  const doubled = records.flatMap((record) => (random() < 0.1 ? [record, record] : [record]))
  const [soon, late] = [doubled.filter((_, place) => place % 10 !== 0), doubled.filter((_, place) => place % 10 === 0)]
  return [...batched(shuffled(soon, random)), ...batched(shuffled(late, random))]
}

function shuffled<Value>(values: readonly Value[], random: () => number): Value[] {
  const keyed = values.map((value) => ({ value, key: random() }))
  return keyed.toSorted((left, right) => left.key - right.key).map(({ value }) => value)
}

const batched = (records: readonly StreamRecord[]): StreamRecord[][] =>
  Array.from({ length: Math.ceil(records.length / BATCH) }, (_, place) =>
    records.slice(place * BATCH, (place + 1) * BATCH),
  )

/** Retries from the first failed record, as a stream does. */
async function deliver(harness: IndexHarness, batches: readonly (readonly StreamRecord[])[]): Promise<void> {
  for (const batch of batches) {
    let open = batch
    for (let delivery = 1; open.length > 0; delivery++) {
      const { failed } = await harness.indexer(open)
      if (failed.length === 0) break
      if (delivery >= MAX_DELIVERIES) throw new Error(`a batch still fails after ${delivery} deliveries`)
      open = open.slice(open.findIndex(({ dynamodb }) => dynamodb?.SequenceNumber === failed[0]))
    }
  }
}

/** Chooses the outcome of a write. For a third of the writes, the engine is busy or the response is lost. */
function unlucky({ path }: ProxiedRequest, random: () => number): Fate {
  if (path !== '/_bulk') return 'pass'
  const chance = random()
  if (chance < 0.12) return { status: 429 }
  if (chance < 0.24) return { status: 503 }
  return chance < 0.33 ? 'lose the response' : 'pass'
}

/** Random numbers that are equal in each execution. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
}
