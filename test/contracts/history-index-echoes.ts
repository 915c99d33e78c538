import { beforeAll, describe, expect, test } from 'vitest'
import type { HistoryFilters } from '../../functions/domain/history.ts'
import { document } from './history-index-harness.ts'
import type { HistoryIndexHarness } from './history-index-harness.ts'

/** What was said about the history ranks below what happened, and is found where it is asked for. */
export function historyIndexEchoesContract(harness: () => HistoryIndexHarness): void {
  describe('what was looked up before', () => {
    const scope = { tenant: 'echoes' }
    const event = document('the teal crate went into the cellar on Monday', scope)
    const later = [0, 1, 2].flatMap((time) => {
      const base = { ...scope, session: `later-${time}`, runId: `later-${time}` }
      const answer = 'The teal crate: it went into the cellar, into the cellar on Monday'
      return [
        document('Where is the teal crate, do you know?', base),
        document(answer, { ...base, role: 'assistant', searched: true }),
      ]
    })
    beforeAll(() => harness().store([event, ...later]))

    const found = async (text: string, filters: HistoryFilters = {}): Promise<string[]> =>
      (await harness().index.search({ scope, text, filters, limit: 10 })).hits.map(({ messageId }) => messageId)

    test.each(['teal crate', 'the crate', 'crate cellar', 'into the cellar on Monday'])(
      'stands below what happened, whatever words were used then: %s',
      async (text) => {
        const hits = await found(text)
        expect(hits[0]).toBe(event.messageId)
        expect(hits.length).toBeGreaterThan(1)
      },
    )

    test('is found by its role as all else', async () => {
      const answers = await found('into the cellar', { role: 'assistant' })
      expect(answers).toHaveLength(3)
    })
  })
}
