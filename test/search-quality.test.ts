/* Evidence, search: Search finds recorded queries: exact ids, words, parts of names, typos and CJK. */
/* Evidence, search: Search ranks text about earlier searches below the events themselves. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSystemClock } from '../functions/adapters/memory/system-clock.ts'
import { openDatabase, transaction, type Database } from '../functions/adapters/sqlite/database.ts'
import { createSqliteHistoryIndex } from '../functions/adapters/sqlite/history/search/history-index.ts'
import { createHistoryTables } from '../functions/adapters/sqlite/history/documents/tables.ts'
import { projectMessage } from '../functions/search/documents/documents.ts'
import type { HistoryIndex } from '../functions/ports/history-index.ts'
import {
  hasRecordings,
  readCorpus,
  readRecordedQueries,
  type CorpusSession,
  type RecordedQuery,
} from './search-corpus.ts'
import { RETELLINGS, retellings } from './search-retellings.ts'

/**
 * Known-item searches over recorded conversations. The recorded queries all search for tool events. Our own queries
 * (`fixtures/search-queries.jsonl`, by conversation and index) search for texts of people and the assistant, for parts of words,
 * and by plain questions.
 */
const TENANT = 'corpus'

interface Found {
  readonly kind: string
  readonly query: string
  /** Rank of the first correct hit, from 1. Infinity if it is not among the first ten. */
  readonly rank: number
  readonly milliseconds: number
}

const readOwnQueries = (): RecordedQuery[] =>
  readFileSync(join(import.meta.dirname, './fixtures/search-queries.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as RecordedQuery)

const recorded = hasRecordings()
if (!recorded) console.log('search quality is not measured: the recorded conversations (../shared/data) are not here')

describe.skipIf(!recorded)('searches over recorded conversations', () => {
  let database: Database
  let index: HistoryIndex
  let corpus: readonly CorpusSession[]
  let found: Found[] = []
  let own: Found[] = []

  beforeAll(async () => {
    database = openDatabase(':memory:')
    corpus = readCorpus()
    await buildIndex(database, corpus)
    index = createSqliteHistoryIndex({
      database,
      history: { merge: async () => undefined },
      clock: createSystemClock(),
    })
    found = await searchAll(index, corpus, readRecordedQueries())
    own = await searchAll(index, corpus, readOwnQueries())
    print([...found, ...own])
  })
  afterAll(() => database.close())

  test('95 % of the recorded queries rank a sought event first, and 99 % among the first ten', () => {
    expect(found).toHaveLength(204)
    expect(share(found, 1)).toBeGreaterThanOrEqual(0.95)
    expect(share(found, 10)).toBeGreaterThanOrEqual(0.99)
  })

  test('97 % of each kind of recorded query rank a sought event among the first ten', () => {
    for (const [kind, queries] of byKind(found)) expect(share(queries, 10), kind).toBeGreaterThanOrEqual(0.97)
  })

  test('earlier questions, and texts that retell the events, rank below the events', async () => {
    await retell(database, index)
    const again = await searchAll(index, corpus, readRecordedQueries())
    print(again)
    expect(share(again, 1)).toBeGreaterThanOrEqual(share(found, 1) - 0.02)
    expect(share(again, 10)).toBeGreaterThanOrEqual(share(found, 10) - 0.01)
  })

  test('own queries (for texts of people and the assistant, parts of words, plain questions) find the messages', () => {
    expect(share(own, 10)).toBeGreaterThanOrEqual(0.97)
    expect(share(own, 1)).toBeGreaterThanOrEqual(0.85)
    for (const [kind, queries] of byKind(own)) expect(share(queries, 10), kind).toBeGreaterThanOrEqual(0.9)
  })
})

async function buildIndex(database: Database, corpus: readonly CorpusSession[]): Promise<void> {
  const tables = createHistoryTables(database)
  const readOutput = (): never => {
    throw new Error('nothing here is offloaded')
  }
  for (const { id, messages } of corpus) {
    const key = { tenant: TENANT, session: id }
    const projected = await Promise.all(
      messages.map(async (message) => ({
        messageId: message.id,
        documents: await Array.fromAsync(projectMessage(message, { key }, readOutput)),
      })),
    )
    transaction(database, () => {
      tables.put((batch) => {
        for (const { messageId, documents } of projected) batch.replace(key, messageId, documents)
      })
      tables.flushPendingWords()
    })
  }
}

/** Adds documents in which agents of each kind searched each query three times. */
async function retell(database: Database, index: HistoryIndex): Promise<void> {
  const documents = await retellings(TENANT, index, RETELLINGS)
  const tables = createHistoryTables(database)
  transaction(database, () => {
    tables.put((batch) => {
      for (const parts of Map.groupBy(documents, ({ messageId }) => messageId).values()) {
        const [first] = parts
        if (first !== undefined) batch.replace(first, first.messageId, parts)
      }
    })
    tables.flushPendingWords()
  })
}

async function searchAll(
  index: HistoryIndex,
  corpus: readonly CorpusSession[],
  queries: readonly RecordedQuery[],
): Promise<Found[]> {
  const places = new Map(corpus.map((session) => [session.id, session.places]))
  const all: Found[] = []
  for (const { kind, query, relevant } of queries) {
    const wanted = new Set(relevant.map(([conversation, place]) => `${conversation} ${place}`))
    const start = performance.now()
    const { hits } = await index.search({ scope: { tenant: TENANT }, text: query, filters: {}, limit: 10 })
    const milliseconds = performance.now() - start
    const right = hits.findIndex(({ session, messageId }) =>
      places
        .get(session)
        ?.get(messageId)
        ?.some((place) => wanted.has(`${session} ${place}`)),
    )
    all.push({ kind, query, rank: right < 0 ? Infinity : right + 1, milliseconds })
  }
  return all
}

const byKind = (found: readonly Found[]): Map<string, Found[]> => Map.groupBy(found, ({ kind }) => kind)
const share = (found: readonly Found[], within: number): number =>
  found.filter(({ rank }) => rank <= within).length / found.length

function print(found: readonly Found[]): void {
  const row = (name: string, queries: readonly Found[]): string =>
    `${name.padEnd(14)} ${String(queries.length).padStart(4)}  ${share(queries, 1).toFixed(3)}   ${share(queries, 10).toFixed(3)}`
  const times = found.map(({ milliseconds }) => milliseconds).toSorted((left, right) => left - right)
  const time = (part: number): string => (times[Math.floor(times.length * part)] ?? 0).toFixed(1)
  const isOwn = ({ kind }: Found): boolean => kind.startsWith('own')
  process.stdout.write(
    `${[
      'queries          n   hit@1   hit@10',
      ...[...byKind(found)]
        .toSorted(([left], [right]) => left.localeCompare(right))
        .map(([kind, queries]) => row(kind, queries)),
      row(
        'recorded',
        found.filter((one) => !isOwn(one)),
      ),
      row('own', found.filter(isOwn)),
      `milliseconds: p50 ${time(0.5)}, p95 ${time(0.95)}`,
    ].join('\n')}\n`,
  )
}
