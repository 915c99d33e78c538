import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import { openDatabase, transaction } from '../../../functions/adapters/sqlite/database.ts'
import { createSqliteHistoryIndex } from '../../../functions/adapters/sqlite/history/history-index.ts'
import { createHistoryTables } from '../../../functions/adapters/sqlite/history/tables.ts'
import type { HistoryDocument } from '../../../functions/domain/history.ts'
import { textOf } from '../../../functions/domain/message.ts'
import { historyDocuments } from '../../../functions/search/documents.ts'
import type { HistoryIndex } from '../../../functions/ports/history-index.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { hasRecordings, readCorpus, readRecordedQueries } from '../../search-corpus.ts'
import { RETELLINGS, retellings } from '../../search-retellings.ts'
import { changesOf, openSearchHarness, type OpenSearchHarness } from './harness.ts'

const TENANT = 'corpus'

interface Ranks {
  readonly [kind: string]: readonly number[]
}

/** It takes two minutes on a machine that does nothing else. */
const MEASURING_MS = 1_800_000

withEngines(['opensearch'], ({ opensearch }) => {
  describe.skipIf(!hasRecordings())('the recorded queries, for which ../shared/data must be there', () => {
    let harness: OpenSearchHarness
    const ranks: Record<string, Ranks> = {}

    beforeAll(async () => {
      const corpus = readCorpus()
      const documents = corpus.flatMap(({ id, messages }) =>
        messages.flatMap((message) =>
          historyDocuments(
            message,
            { key: { tenant: TENANT, session: id } },
            { text: textOf(message.parts), call: message.role === 'tool' ? message.call : '' },
          ),
        ),
      )
      const places = new Map(corpus.map(({ id, places: known }) => [id, known]))
      harness = openSearchHarness(opensearch)
      const outcomes = await harness.writer.write(changesOf(documents))
      expect(outcomes.every(({ done }) => done)).toBe(true)
      await harness.refresh()
      ranks['FTS5'] = await ranksOf(sqliteIndex(documents), places)
      ranks['OpenSearch'] = await ranksOf(harness.index, places)
      for (const how of RETELLINGS) {
        const retold = changesOf(await retellings(TENANT, harness.index, how))
        expect((await harness.writer.write(retold)).every(({ done }) => done)).toBe(true)
        await harness.refresh()
        ranks[how] = await ranksOf(harness.index, places)
        const gone = retold.map((change) => ({
          ...change,
          revision: change.revision + 1,
          documents: [],
          removed: change.documents.map(({ part }) => part),
        }))
        expect((await harness.writer.write(gone)).every(({ done }) => done)).toBe(true)
        await harness.refresh()
      }
      print(ranks)
    }, MEASURING_MS)
    afterAll(() => harness.close())

    test.each(['FTS5', 'OpenSearch'])('%s: hit@1 at least .95, hit@10 at least .99', (engine) => {
      const all = Object.values(ranks[engine] ?? {}).flat()
      expect(share(all, 1)).toBeGreaterThanOrEqual(0.95)
      expect(share(all, 10)).toBeGreaterThanOrEqual(0.99)
    })

    test.each(RETELLINGS)('what was asked and retold before (%s) stands below what happened', (how) => {
      const [clean, again] = ['OpenSearch', how].map((name) => Object.values(ranks[name] ?? {}).flat())
      expect(share(again ?? [], 1)).toBeGreaterThanOrEqual(share(clean ?? [], 1) - 0.02)
      expect(share(again ?? [], 10)).toBeGreaterThanOrEqual(share(clean ?? [], 10) - 0.01)
    })

    test.each(['FTS5', 'OpenSearch'])('%s: every kind of query hit@10 at least .97', (engine) => {
      for (const [kind, found] of Object.entries(ranks[engine] ?? {}))
        expect(share(found, 10), kind).toBeGreaterThanOrEqual(0.97)
    })
  })
})

function sqliteIndex(documents: readonly HistoryDocument[]): HistoryIndex {
  const database = openDatabase(':memory:')
  const tables = createHistoryTables(database)
  transaction(database, () => {
    tables.put((batch) => {
      for (const { key, messageId, documents: parts } of changesOf(documents)) batch.replace(key, messageId, parts)
    })
    tables.settle()
  })
  return createSqliteHistoryIndex({ database, history: { merge: async () => undefined }, clock: createSystemClock() })
}

/** The place of the first right hit of each query, from 1; Infinity when it is not among the first ten. */
async function ranksOf(
  index: HistoryIndex,
  places: ReadonlyMap<string, ReadonlyMap<string, readonly number[]>>,
): Promise<Ranks> {
  const ranks: Record<string, number[]> = {}
  for (const { query, kind, relevant } of readRecordedQueries()) {
    const wanted = new Set(relevant.map(([conversation, place]) => `${conversation} ${place}`))
    const { hits } = await index.search({ scope: { tenant: TENANT }, text: query, filters: {}, limit: 10 })
    const right = hits.findIndex(({ session, messageId }) =>
      places
        .get(session)
        ?.get(messageId)
        ?.some((place) => wanted.has(`${session} ${place}`)),
    )
    ;(ranks[kind] ??= []).push(right < 0 ? Infinity : right + 1)
  }
  return ranks
}

const share = (ranks: readonly number[], within: number): number =>
  ranks.filter((rank) => rank <= within).length / ranks.length

function print(all: Readonly<Record<string, Ranks>>): void {
  const engines = Object.keys(all)
  const kinds = Object.keys(all[engines[0] ?? ''] ?? {}).toSorted()
  const cell = (found: readonly number[]): string => `${share(found, 1).toFixed(3)} / ${share(found, 10).toFixed(3)}`
  const row = (name: string, pick: (ranks: Ranks) => readonly number[]): string =>
    [name.padEnd(12), ...engines.map((engine) => cell(pick(all[engine] ?? {})).padEnd(15))].join(' ')
  process.stdout.write(
    `${[
      ['hit@1 / @10'.padEnd(12), ...engines.map((engine) => engine.padEnd(15))].join(' '),
      ...kinds.map((kind) => row(kind, (found) => found[kind] ?? [])),
      row('all', (found) => Object.values(found).flat()),
    ].join('\n')}\n`,
  )
}
