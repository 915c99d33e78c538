import { beforeAll, describe, expect, test } from 'vitest'
import { definedFields } from '../../functions/domain/defined-fields.ts'
import { document } from './history-index-harness.ts'
import type { HistoryIndexHarness } from './history-index-harness.ts'

/** Contract: a query that finds little is widened to similar words. */
export function historyIndexWideningContract(harness: () => HistoryIndexHarness): void {
  describe('a query with at most half of its words in any event', () => {
    const scope = { tenant: 'half' }
    const kept = {
      typo: document('the invoice of the warehouse was paid', scope),
      piece: document('we changed planes at the airport of lisbon', scope),
    }
    // Each word alone is too common to be treated as a typing error.
    const others = Array.from({ length: 6 }, (_, number) => [
      document(`invoice number ${number} is open`, scope),
      document(`wharehouse is how customer ${number} spells it`, scope),
      document(`port number ${number} is closed`, scope),
      document(`lisbon has hill number ${number}`, scope),
    ])
    beforeAll(() => harness().store([...Object.values(kept), ...others.flat()]))

    test.each([
      ['a word that may be a typo', 'invoice wharehouse', 'typo'],
      ['a word that may be a piece of another', 'port lisbon', 'piece'],
    ] as const)(
      'ranks first the event in which each query word has an equal or similar word: %s',
      async (_, text, wanted) => {
        expect((await harness().index.search({ scope, text, filters: {}, limit: 20 })).hits[0]?.messageId).toBe(
          kept[wanted].messageId,
        )
      },
    )

    test('lists every event with some of its words once, page by page', async () => {
      const found: string[] = []
      let after: string | undefined
      do {
        const query = { scope, text: 'invoice wharehouse', filters: {}, limit: 5 }
        const page = await harness().index.search({ ...query, ...definedFields({ after }) })
        found.push(...page.hits.map(({ messageId }) => messageId))
        after = page.next
      } while (after !== undefined && found.length < 100)
      const wanted = [kept.typo, ...others.flatMap(([invoice, spelling]) => [invoice, spelling])]
      expect(found.toSorted()).toEqual(wanted.flatMap((one) => one?.messageId ?? []).toSorted())
    })
  })
}
