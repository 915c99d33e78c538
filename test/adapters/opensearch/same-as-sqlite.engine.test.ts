/* Evidence, search: Over all pages of a search, both indexes find prefixes, inner parts of words, and symbols. */
/*
 * Over all pages of a query, OpenSearch finds every event that SQLite finds. This includes queries that are prefixes of words,
 * inner parts of words, or only symbols. If a query has words, OpenSearch may find more events. Otherwise, both indexes find the
 * same events.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDice } from '../../../audit/dice.ts'
import { randomDocuments } from '../../../audit/index-difference/random-history.ts'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import { openDatabase, transaction } from '../../../functions/adapters/sqlite/database.ts'
import { createHistoryTables } from '../../../functions/adapters/sqlite/history/documents/tables.ts'
import { createSqliteHistoryIndex } from '../../../functions/adapters/sqlite/history/search/history-index.ts'
import type { HistoryDocument } from '../../../functions/domain/history.ts'
import { definedFields } from '../../../functions/domain/defined-fields.ts'
import type { HistoryIndex } from '../../../functions/ports/history-index.ts'
import { document, IDS } from '../../contracts/history-index-harness.ts'
import { withEngines } from '../../engines/with-engines.ts'
import { changesOf, openSearchHarness } from './harness.ts'
import type { OpenSearchHarness } from './harness.ts'

/** Number of documents about deploys: more documents than one search scores. */
const DEPLOYS = 150
const parts = (place: number, ...texts: readonly string[]): HistoryDocument[] =>
  texts.map((text, part) => document(text, { role: 'tool_result', part: `r${part}`, messageId: IDS[place] ?? '' }))

const documents: readonly HistoryDocument[] = [
  ...Array.from({ length: DEPLOYS }, (_, index) => document(`deploy number ${index}`)),
  ...randomDocuments(createDice(5), 80).filter(({ tenant }) => tenant === 'acme'),
  ...parts(900, 'x = 1 and y > 2', 'items.map(x => x)'),
  ...parts(901, 'items.map(x => x)', 'x = 1 and y > 2'),
  ...parts(902, 'nothing here', 'nothing there', 'std::vector<int> v{}'),
]

const WORDS = [
  'deploy',
  'depl',
  'ploy',
  'de',
  'd',
  'kube',
  'ubect',
  'pars',
  'JSON',
  'amples',
  'nclude',
  '数据',
  '日',
  'テキ',
  'сер',
  'рвер',
]
const SYMBOLS = ['=>', '::', '{}', '()', '++', '<b>', '"', '?', '=', '> =', '😀']

withEngines(['opensearch'], ({ opensearch }) => {
  describe('OpenSearch and SQLite', () => {
    let harness: OpenSearchHarness
    const database = openDatabase(':memory:')
    const history = { merge: async () => undefined }
    const sqlite = createSqliteHistoryIndex({ database, history, clock: createSystemClock() })
    beforeAll(async () => {
      harness = openSearchHarness(opensearch)
      const tables = createHistoryTables(database)
      for (const { key, messageId, documents: all } of changesOf(documents))
        transaction(database, () => {
          tables.put((batch) => batch.replace(key, messageId, all))
          tables.flushPendingWords()
        })
      await harness.writer.write(changesOf(documents))
      await harness.refresh()
    })
    afterAll(async () => {
      await harness.close()
      database.close()
    })

    /** Returns message and role of all hits, which are read page by page. */
    async function allPages(index: HistoryIndex, text: string, limit: number): Promise<string[]> {
      const keys: string[] = []
      let after: string | undefined
      do {
        const query = { scope: { tenant: 'acme' }, text, filters: {}, limit, ...definedFields({ after }) }
        const page = await index.search(query)
        keys.push(...page.hits.map(({ messageId, role }) => `${messageId} ${role}`))
        after = page.next
      } while (after !== undefined)
      expect(new Set(keys).size, `${text}: no hit comes twice`).toBe(keys.length)
      return keys
    }

    async function expectSame(text: string, limit: number, isExact: boolean): Promise<void> {
      const found = new Set(await allPages(harness.index, text, limit))
      const wanted = await allPages(sqlite, text, limit)
      expect(wanted.filter((key) => !found.has(key))).toEqual([])
      if (isExact) expect([...found].toSorted()).toEqual(wanted.toSorted())
    }

    test.each(WORDS)('return the same results for the word %s', (text) => expectSame(text, 40, false))

    test.each(SYMBOLS)('return the same results for the symbols %s', (text) => expectSame(text, 3, true))

    test.each([
      ['deploy', 40],
      ['depl', 50],
      ['ploy', 40],
    ] as const)('show every match of %s on pages of %i hits', async (text, limit) => {
      for (const index of [harness.index, sqlite]) {
        const found = await allPages(index, text, limit)
        const ids = new Set(found.map((key) => key.split(' ')[0]))
        const all = documents.slice(0, DEPLOYS).map(({ messageId }) => messageId)
        expect(all.filter((id) => !ids.has(id))).toEqual([])
      }
    })
  })
})
