import { beforeAll, describe, expect, test } from 'vitest'
import type { HistoryHit, HistoryQuery } from '../../functions/domain/history.ts'
import { document, IDS } from './history-index-harness.ts'
import type { HistoryIndexHarness } from './history-index-harness.ts'

const DAY = 86_400_000
const MAX_PAGES = 300

/** Contract for the order of hits, their groups, and their pages. */
export function historyIndexListsContract(harness: () => HistoryIndexHarness): void {
  /** Returns all hits of a query, page by page; `between` runs after each page. */
  async function allHits(
    query: Omit<HistoryQuery, 'filters'> & Partial<HistoryQuery>,
    between?: () => Promise<void>,
  ): Promise<HistoryHit[]> {
    const hits: HistoryHit[] = []
    let after: string | undefined
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const page = await harness().index.search({ filters: {}, ...query, ...(after !== undefined && { after }) })
      hits.push(...page.hits)
      after = page.next
      if (after === undefined) return hits
      expect(after.length).toBeLessThanOrEqual(40)
      await between?.()
    }
    throw new Error('the pages do not end')
  }
  const ids = (hits: readonly HistoryHit[]): string[] => hits.map(({ messageId }) => messageId)

  describe('hits sorted by time', () => {
    const scope = { tenant: 'times' }
    const start = Date.UTC(2024, 0, 1)
    // Documents that are not written in the order of their times, as in an import of several years.
    const texts = Array.from({ length: 60 }, (_, place) =>
      document(`ledger entry ${place}`, { ...scope, time: start + ((place * 37) % 60) * 11 * DAY }),
    )
    const calls = [3, 14].map((place, number) => {
      const call = document('book(entry="ledger")', {
        ...scope,
        role: 'tool_call',
        call: 'book(entry="ledger")',
        time: start + place * 11 * DAY + 1,
      })
      // The result is stored long after its call.
      const time = call.time + (number + 20) * 11 * DAY
      return [call, document('ledger booked', { ...call, role: 'tool_result', part: 'r0', time })] as const
    })
    const sameTime = Array.from({ length: 5 }, () => document('ledger of one moment', { ...scope, time: start }))
    const others = Array.from({ length: 5 }, () => document('nothing of the kind', scope))
    beforeAll(() => harness().store([...texts, ...calls.flat(), ...sameTime, ...others]))

    const timesOf = (which: 'newest' | 'oldest'): number[] =>
      [...texts, ...calls.map(([call, result]) => (which === 'newest' ? result : call)), ...sameTime]
        .map(({ time }) => time)
        .toSorted((left, right) => (which === 'newest' ? right - left : left - right))

    test.each([
      ['newest', 7],
      ['oldest', 7],
      ['newest', 50],
    ] as const)('%s, %i per page: each event is listed once, with its time', async (sort, limit) => {
      const hits = await allHits({ scope, text: 'ledger', sort, limit })
      expect(new Set(ids(hits)).size).toBe(67)
      expect(hits.map(({ time }) => time)).toEqual(timesOf(sort))
    })

    test('events with equal times are sorted by their order in the log', async () => {
      const oldest = ids(await allHits({ scope, text: 'moment', sort: 'oldest', limit: 2 }))
      expect(oldest).toEqual(ids(sameTime.map((one) => one as never)))
      expect(ids(await allHits({ scope, text: 'moment', sort: 'newest', limit: 2 }))).toEqual(oldest.toReversed())
    })

    test('newer hits with only some of the words are omitted if any hit has all words', async () => {
      const hits = await allHits({ scope, text: 'ledger moment', sort: 'newest', limit: 10 })
      expect(ids(hits).toSorted()).toEqual(sameTime.map(({ messageId }) => messageId).toSorted())
      expect(await allHits({ scope, text: 'ledgr', sort: 'newest', limit: 50 })).toHaveLength(67)
    })

    test('a search without words lists the events of its time range', async () => {
      const filters = { since: start + 100 * DAY, until: start + 200 * DAY }
      const hits = await allHits({ scope, text: '', filters, sort: 'oldest', limit: 4 })
      const wanted = [...texts, ...calls.flat()].filter(({ time }) => time >= filters.since && time <= filters.until)
      expect(hits.map(({ time }) => time)).toEqual(
        wanted.map(({ time }) => time).toSorted((left, right) => left - right),
      )
    })

    test.each(['newest', 'oldest'] as const)(
      '%s: pages continue unchanged while documents are written',
      async (sort) => {
        const own = { tenant: `times-${sort}` }
        const entry = (place: number) =>
          document(`ledger entry ${place}`, { ...own, time: start + ((place * 7) % 30) * DAY })
        await harness().store(Array.from({ length: 30 }, (_, place) => entry(place)))
        const hits = await allHits({ scope: own, text: 'ledger', sort, limit: 9 }, () =>
          harness().store([document('ledger', { ...own, runId: 'later' }), { ...entry(40), runId: 'later' }]),
        )
        expect(new Set(ids(hits)).size).toBe(30)
        expect(hits.filter(({ runId }) => runId === 'later')).toEqual([])
      },
    )
  })

  describe('hits grouped by session', () => {
    const scope = { tenant: 'groups' }
    const of = (session: string, text: string, change = {}) => document(text, { ...scope, session, ...change })
    // More sessions than are ranked. Each contains the word harbour once. Every third contains it twice, and one session very
    // often.
    const mentions = Array.from({ length: 110 }, (_, place) => [
      of(`g-${place}`, `the harbour of town ${place}`),
      ...(place % 3 === 0 ? [of(`g-${place}`, `a harbour again, ${place}`)] : []),
    ]).flat()
    const often = Array.from({ length: 130 }, (_, place) => of('often', `harbour report ${place}`))
    const best = of('best', 'the harbour harbour crane')
    beforeAll(() => harness().store([...mentions, ...often, best, of('none', 'something else')]))

    test('list every session once, with one hit and the number of its further hits', async () => {
      for (const limit of [50, 9]) {
        const hits = await allHits({ scope, text: 'harbour', group: 'session', limit })
        const sessions = hits.map(({ session }) => session)
        expect(new Set(sessions).size).toBe(sessions.length)
        expect(sessions.toSorted()).toEqual(
          [...new Set([...mentions, ...often, best].map(({ session }) => session))].toSorted(),
        )
        const more = new Map(hits.map((hit) => [hit.session, hit.more]))
        expect([more.get('often'), more.get('best'), more.get('g-3'), more.get('g-4')]).toEqual([100, 0, 1, 0])
      }
    })

    test('show the best hit of each session, and the best session first', async () => {
      const text = 'harbour crane'
      const [first] = await allHits({ scope, text, group: 'session', limit: 50 })
      const [alone] = await allHits({ scope, text, limit: 50 })
      expect(first?.messageId).toBe(best.messageId)
      expect(first?.messageId).toBe(alone?.messageId)
    })

    test.each(['newest', 'oldest'] as const)(
      'show the first hit of each session in the order %s',
      async (sort) => {
        const all = await allHits({ scope, text: 'harbour', sort, limit: 50 })
        const firsts = [...Map.groupBy(all, ({ session }) => session).values()].map(([hit]) => hit?.messageId)
        const grouped = await allHits({ scope, text: 'harbour', sort, group: 'session', limit: 13 })
        expect(ids(grouped)).toEqual(firsts)
        expect(grouped.find(({ session }) => session === 'often')?.more).toBe(100)
      },
      60_000,
    )

    test('continue unchanged over pages while documents are written', async () => {
      const hits = await allHits({ scope, text: 'harbour town', group: 'session', limit: 25 }, () =>
        harness().store([of(`new-${IDS.length}`, 'harbour town, harbour town'), of('g-7', 'harbour town')]),
      )
      const sessions = hits.map(({ session }) => session)
      expect(new Set(sessions).size).toBe(sessions.length)
      expect(sessions.filter((session) => session.startsWith('new'))).toEqual([])
      expect(sessions.length).toBeGreaterThanOrEqual(110)
    })
  })

  describe('hits of given sessions', () => {
    const scope = { tenant: 'chosen' }
    const inSession = (session: string) => document('a lighthouse keeper', { ...scope, session })
    beforeAll(() => harness().store(['a', 'b', 'c'].map(inSession)))

    test.each(['relevance', 'newest'] as const)(
      'are complete and exclude other sessions, even for very many sessions: %s',
      async (sort) => {
        const many = Array.from({ length: 998 }, (_, place) => `other-${place}`)
        for (const [sessions, wanted] of [
          [
            ['a', 'c'],
            ['a', 'c'],
          ],
          [[...many, 'b'], ['b']],
          [[], []],
        ] as const) {
          const hits = await allHits({ scope, text: 'lighthouse', filters: { sessions }, sort, limit: 10 })
          expect(hits.map(({ session }) => session).toSorted()).toEqual(wanted)
        }
      },
    )
  })

  test('a cursor is refused in a search with another order or grouping', async () => {
    const query = { scope: { tenant: 'groups' }, text: 'harbour', filters: {}, limit: 5 }
    const { next: after = '' } = await harness().index.search(query)
    for (const other of [{ sort: 'newest' }, { group: 'session' }] as const)
      await expect(harness().index.search({ ...query, ...other, after })).rejects.toMatchObject({
        code: 'cursor_not_found',
      })
    expect((await harness().index.search({ ...query, after })).hits).toHaveLength(5)
  })
}
