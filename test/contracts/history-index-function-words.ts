import { beforeAll, describe, expect, test } from 'vitest'
import { document } from './history-index-harness.ts'
import type { HistoryIndexHarness } from './history-index-harness.ts'

/** Contract: function words such as "in" make no event match, unless the query has only function words. */
export function historyIndexFunctionWordsContract(harness: () => HistoryIndexHarness): void {
  describe('a query with function words', () => {
    const scope = { tenant: 'function-words' }
    const house = document('in the house of the sleeping cat', scope)
    const sentence = document('what is this about, and who was it for?', scope)
    const zebra = document('a zebra stood in a field', scope)
    const login = document('the log-in page of the shop', scope)
    beforeAll(() => harness().store([house, sentence, zebra, login]))

    /** Returns the hits of all pages. */
    const found = async (text: string): Promise<string[]> => {
      const ids: string[] = []
      for (let after: string | undefined = ''; after !== undefined && ids.length < 20;) {
        const query = { scope, text, filters: {}, limit: 1, ...(after === '' ? {} : { after }) }
        const page = await harness().index.search(query)
        ids.push(...page.hits.map(({ messageId }) => messageId))
        after = page.next
      }
      return ids
    }

    test.each([
      'what is in the giraffe?',
      'in giraffe',
      'who was it for: giraffe, and what about quagga',
      'giraffe-in-the-house-of-quagga is for this',
    ])('does not match texts by function words if the query has other words: %s', async (text) => {
      expect((await found(text)).filter((id) => id !== house.messageId || !text.includes('house'))).toEqual([])
    })

    test.each([
      ['zebra in', [zebra]],
      ['what is in the zebra?', [zebra]],
      ['log-in', [login]],
      ['in-field', [zebra]],
    ] as const)('finds the texts that contain the other words of the query: %s', async (text, wanted) => {
      expect(await found(text)).toEqual(wanted.map(({ messageId }) => messageId))
    })

    test('matches texts by function words if the query has no other words', async () => {
      expect(await found('in the')).toContain(house.messageId)
      expect(await found('in')).toEqual(expect.arrayContaining([house.messageId, zebra.messageId]))
      expect(await found('what is this about')).toContain(sentence.messageId)
      expect(await found('what is this about')).not.toContain(zebra.messageId)
    })
  })
}
