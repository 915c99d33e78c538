import { beforeAll, describe, expect, test } from 'vitest'
import { document } from './history-index-harness.ts'
import type { HistoryIndexHarness } from './history-index-harness.ts'

const NOW = Date.UTC(2026, 10, 29, 12)
const at = (month: number, day: number, hour = 12): number => Date.UTC(2026, month - 1, day, hour)

/** Contract: a query may name a time, and texts may write a date in another order. */
export function historyIndexDatesContract(harness: () => HistoryIndexHarness): void {
  describe('a query with a date', () => {
    const scope = { tenant: 'dates' }
    const kept = {
      march: document('we chose the green boat', { ...scope, session: 'a', time: at(3, 10) }),
      november: document('we chose the green boat again', { ...scope, session: 'b', time: at(11, 26, 23) }),
      yesterday: document('the green boat was painted', { ...scope, session: 'c', time: at(11, 28) }),
      written: document('Departure of the boat: 2024-05-25, gate 4', { ...scope, session: 'd', time: at(1, 2) }),
      otherDay: document('Departure of the boat: 2024-05-27, gate 5', { ...scope, session: 'e', time: at(1, 3) }),
      file: document('see logs/2024-05-25/boat-3.txt', { ...scope, session: 'f', time: at(1, 4) }),
    }
    beforeAll(() => harness().store(Object.values(kept)))

    const found = async (text: string, timeZone = 'UTC'): Promise<string[]> => {
      const query = { scope, text, filters: {}, limit: 10, asked: { now: NOW, timeZone } }
      return (await harness().index.search(query)).hits.map(({ messageId }) => messageId)
    }

    test.each([
      ['in March', 'which boat did we choose in March', 'march'],
      ['a day and a month', 'the green boat of 26 November', 'november'],
      ['a month and a day', 'green boat Nov 26', 'november'],
      ['an ISO date', 'green boat 2026-11-26', 'november'],
      ['a day with points', 'green boat 26.11.', 'november'],
      ['yesterday', 'what about the green boat yesterday', 'yesterday'],
    ] as const)('ranks the entries of that date first: %s', async (_, text, wanted) => {
      expect((await found(text))[0]).toBe(kept[wanted].messageId)
    })

    test.each([
      'boat departure 25 May 2024',
      'departure of the boat on the 25th of May 2024',
      'boat departure 25.5.2024',
    ])('finds texts that write the date in another order: %s', async (text) => {
      expect((await found(text))[0]).toBe(kept.written.messageId)
    })

    test('reads a day in the zone of the caller', async () => {
      expect((await found('green boat 27 November', 'Europe/Helsinki'))[0]).toBe(kept.november.messageId)
    })

    test('lists the entries of a time if it has no other words, newest first', async () => {
      expect((await found('yesterday'))[0]).toBe(kept.yesterday.messageId)
      expect((await found('what happened this week')).slice(0, 2)).toEqual([
        kept.yesterday.messageId,
        kept.november.messageId,
      ])
    })

    test('searches the literal text of a date in a path, an identifier or quotation marks', async () => {
      expect((await found('logs/2024-05-25/boat-3.txt'))[0]).toBe(kept.file.messageId)
      expect(await found('"2024-05-27" gate')).toContain(kept.otherDay.messageId)
    })

    test('treats dates as words if the time of the caller is unknown', async () => {
      const { hits } = await harness().index.search({ scope, text: 'yesterday', filters: {}, limit: 10 })
      expect(hits).toEqual([])
    })
  })
}
