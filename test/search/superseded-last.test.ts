/* Evidence, search: A search of a tenant without superseded entries reads the index once. */
import { expect, test } from 'vitest'
import type { HistoryHit, HistoryPage, HistoryQuery } from '../../functions/domain/history.ts'
import { searchSupersededLast } from '../../functions/search/superseded-last.ts'

const hit = (session: string): HistoryHit => ({
  session,
  runId: 'run-1',
  messageId: `m-${session}`,
  matched: [],
  role: 'user',
  agent: 'default',
  time: 0,
  score: 1,
  snippet: 'text',
})

/** An index with a hit in each of these sessions. `queries` lists the searches. */
function indexOf(current: readonly string[], superseded: readonly string[]) {
  const queries: HistoryQuery[] = []
  const search = async (query: HistoryQuery): Promise<HistoryPage> => {
    queries.push(query)
    const { sessions } = query.filters
    const all = query.filters.superseded === true ? superseded : current
    const found = all.filter((session) => sessions?.includes(session) ?? true)
    return { hits: found.slice(0, query.limit).map(hit) }
  }
  return { queries, search, hasSuperseded: async () => superseded.length > 0 }
}

const query: HistoryQuery = { scope: { tenant: 'acme' }, text: 'walrus', filters: {}, limit: 3 }

test.each([[], ['a'], ['a', 'b', 'c']])(
  'a tenant without superseded entries is searched once: %s',
  async (...current) => {
    const index = indexOf(current, [])
    expect((await searchSupersededLast(query, index)).hits.map(({ session }) => session)).toEqual(current)
    expect(index.queries).toHaveLength(1)
  },
)

test('a grouped search needs one query to find which sessions were listed before', async () => {
  const index = indexOf(['a'], ['a', 'b'])
  const page = await searchSupersededLast({ ...query, group: 'session' }, index)
  expect(page.hits.map(({ session }) => session)).toEqual(['a', 'b'])
  expect(index.queries.map(({ filters }) => [filters.superseded, filters.sessions])).toEqual([
    [false, undefined],
    [true, undefined],
    [false, ['a', 'b']],
  ])
})
