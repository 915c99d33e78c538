/* Evidence, search: Search ranks text about earlier searches below the events themselves. */
/* Evidence, search: Search finds equal results on both engines. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { textOf } from '../../../functions/domain/messages/message.ts'
import { historyDocuments } from '../../../functions/search/documents/documents.ts'
import type { HistoryIndex } from '../../../functions/ports/history-index.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { hasRecordings, readCorpus, readRecordedQueries } from '../../search-corpus.ts'
import { RETELLINGS, retellings } from '../../search-retellings.ts'
import { isWhole } from '../../whole.ts'
import { changesOf, openSearchHarness, type OpenSearchHarness } from './harness.ts'

const TENANT = 'corpus'

interface Ranks {
  readonly [kind: string]: readonly number[]
}

/** CI runs every fifth query. SQLite's suite runs all of them. */
const STRIDE = isWhole ? 1 : 5
/** Kinds of earlier searches. CI adds one of them. */
const WAYS = isWhole ? RETELLINGS : RETELLINGS.slice(0, 1)
/** Time limit of a measurement. It takes a minute on an idle machine. */
const MEASURING_MS = 1_800_000
const CLEAN = 'clean'
/** In this variant, earlier runs have repeated every event three times in each of `WAYS`. */
const RETOLD = 'retold'

withEngines(['opensearch'], ({ opensearch }) => {
  describe.skipIf(!hasRecordings())('the recorded queries, which require ../shared/data,', () => {
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
      ranks[CLEAN] = await ranksOf(harness.index, places)
      const retold = changesOf(await retellings(TENANT, harness.index, WAYS))
      expect((await harness.writer.write(retold)).every(({ done }) => done)).toBe(true)
      await harness.refresh()
      ranks[RETOLD] = await ranksOf(harness.index, places)
      print(ranks)
    }, MEASURING_MS)
    afterAll(() => harness.close())

    test('reach hit@1 of at least .95 and hit@10 of at least .99', () => {
      const all = Object.values(ranks[CLEAN] ?? {}).flat()
      expect(share(all, 1)).toBeGreaterThanOrEqual(0.95)
      expect(share(all, 10)).toBeGreaterThanOrEqual(0.99)
    })

    test('reach almost the same hit rates after sessions that repeat the queries and events are stored', () => {
      const [clean, again] = [CLEAN, RETOLD].map((name) => Object.values(ranks[name] ?? {}).flat())
      expect(share(again ?? [], 1)).toBeGreaterThanOrEqual(share(clean ?? [], 1) - 0.02)
      expect(share(again ?? [], 10)).toBeGreaterThanOrEqual(share(clean ?? [], 10) - 0.01)
    })

    test('reach hit@10 of at least .97 for every kind of query', () => {
      for (const [kind, found] of Object.entries(ranks[CLEAN] ?? {}))
        expect(share(found, 10), kind).toBeGreaterThanOrEqual(0.97)
    })
  })
})

/** Returns the rank of the first correct hit of each query, from 1. Infinity if the first ten hits are all wrong. */
async function ranksOf(
  index: HistoryIndex,
  places: ReadonlyMap<string, ReadonlyMap<string, readonly number[]>>,
): Promise<Ranks> {
  const ranks: Record<string, number[]> = {}
  for (const { query, kind, relevant } of readRecordedQueries().filter((_, place) => place % STRIDE === 0)) {
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
  const columns = Object.keys(all)
  const kinds = Object.keys(all[CLEAN] ?? {}).toSorted()
  const cell = (found: readonly number[]): string => `${share(found, 1).toFixed(3)} / ${share(found, 10).toFixed(3)}`
  const row = (name: string, pick: (ranks: Ranks) => readonly number[]): string =>
    [name.padEnd(12), ...columns.map((column) => cell(pick(all[column] ?? {})).padEnd(15))].join(' ')
  process.stdout.write(
    `${[
      ['hit@1 / @10'.padEnd(12), ...columns.map((column) => column.padEnd(15))].join(' '),
      ...kinds.map((kind) => row(kind, (found) => found[kind] ?? [])),
      row('all', (found) => Object.values(found).flat()),
    ].join('\n')}\n`,
  )
}
