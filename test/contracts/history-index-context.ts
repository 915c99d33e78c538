import { beforeAll, describe, expect, test } from 'vitest'
import type { HistoryFilters, HistoryHit, HistoryScope } from '../../functions/domain/history.ts'
import { document } from './history-index-harness.ts'
import type { HistoryIndexHarness } from './history-index-harness.ts'

/** Contract: entries beside a hit can add words of the query to the hit, if the searcher may see these entries. */
export function historyIndexContextContract(harness: () => HistoryIndexHarness): void {
  describe('a query whose words are spread over neighbouring entries', () => {
    const tenant = 'context'
    const scope = { tenant }
    const trip = { tenant, session: 'trip', owner: 'ada' }
    const kept = {
      ferry: document('The ferry to Korsholm leaves at noon', { ...trip, runId: 'run-ferry' }),
      reply: document('Understood, that one was cancelled because of the ice', { ...trip, role: 'assistant' }),
      price: document('It costs nineteen euros', { ...trip, runId: 'run-price' }),
      ice: document('The meeting was cancelled, and there was ice cream', { tenant, session: 'ice', owner: 'bob' }),
      other: document('The ferry museum opened', { tenant, session: 'museum', owner: 'bob' }),
    }
    beforeAll(() => harness().store(Object.values(kept)))

    const search = async (text: string, filters: HistoryFilters = {}, within: HistoryScope = scope) =>
      (await harness().index.search({ scope: within, text, filters, limit: 20 })).hits
    const ids = (hits: readonly HistoryHit[]): string[] => hits.map(({ messageId }) => messageId)

    test('an entry ranks higher if the entry before it has the missing word', async () => {
      const hits = await search('ferry cancelled ice')
      expect(hits[0]?.messageId).toBe(kept.reply.messageId)
      expect(hits[0]?.matched).toEqual([
        { term: 'ferry', where: ['neighbour'] },
        { term: 'cancelled', where: ['entry'] },
        { term: 'ice', where: ['entry'] },
      ])
    })

    test('a question, but not a list of keywords, finds entries beside a hit that contain no query word', async () => {
      expect(ids(await search('what does the ferry to Korsholm cost'))).toContain(kept.price.messageId)
      expect(ids(await search('ferry Korsholm'))).not.toContain(kept.price.messageId)
      expect(ids(await search('Korsholm'))).toEqual([kept.ferry.messageId])
    })

    test('a neighbour that does not fit the filters is not returned as a hit', async () => {
      expect(ids(await search('what of the ferry to Korsholm', { role: 'user' }))).not.toContain(kept.reply.messageId)
      expect(ids(await search('was the ferry cancelled by ice', { role: 'assistant' }))).toEqual([kept.reply.messageId])
    })

    test('an entry of the run that `notRun` names does not complete its neighbours', async () => {
      const hits = await search('ferry cancelled ice', { notRun: 'run-ferry' })
      const reply = hits.find(({ messageId }) => messageId === kept.reply.messageId)
      expect(reply?.matched.map(({ term }) => term)).toEqual(['cancelled', 'ice'])
    })

    test('the pages of a question have each hit once', async () => {
      const found: string[] = []
      const query = { scope, text: 'what does the ferry to Korsholm cost', filters: {}, limit: 1 }
      for (let after: string | undefined = ''; after !== undefined && found.length < 50;) {
        const page = await harness().index.search(after === '' ? query : { ...query, after })
        found.push(...ids(page.hits))
        after = page.next
      }
      expect(new Set(found).size).toBe(found.length)
      expect(found).toContain(kept.price.messageId)
    })

    test('an entry of another tenant, owner or session completes no entry', async () => {
      const twins = ['ann', 'ben'].map((owner) => ({ tenant: 'context-owners', session: `of-${owner}`, owner }))
      const [mine, theirs] = twins.map((place) => document('It was cancelled because of the ice', place))
      const secrets = [
        document('The zeppelin leaves at noon', {
          ...twins[1],
          messageId: theirs?.messageId.replace(/.$/u, '0') ?? '',
        }),
        document('The zeppelin leaves', { tenant: 'context-else', session: 'of-ann', owner: 'ann' }),
      ]
      if (mine === undefined || theirs === undefined) throw new Error('two entries are needed')
      await harness().store([mine, theirs, ...secrets])
      const hits = await search('zeppelin cancelled ice', {}, { tenant: 'context-owners', owner: 'ann' })
      expect(ids(hits)).toEqual([mine.messageId])
      expect(hits[0]?.matched.map(({ term }) => term)).toEqual(['cancelled', 'ice'])
    })
  })

  describe('a question', () => {
    const scope = { tenant: 'questions' }
    const asked = document('Which paint did the lighthouse get? And which brush?', { ...scope, session: 'later' })
    const said = document('The lighthouse got a red paint', { ...scope, session: 'before' })
    beforeAll(() => harness().store([said, asked]))

    test('ranks a statement above an equal question', async () => {
      const { hits } = await harness().index.search({
        scope,
        text: 'which paint did the lighthouse get?',
        filters: {},
        limit: 5,
      })
      expect(hits.map(({ messageId }) => messageId)).toEqual([said.messageId, asked.messageId])
    })
  })

  describe('an earlier search beside an entry', () => {
    const scope = { tenant: 'beside' }
    const event = document('the indigo kettle was sold to Runa', { ...scope, session: 'sale' })
    const later = { ...scope, session: 'later' }
    const unrelated = document('the garden needs rain', { ...later, runId: 'garden' })
    const question = document('Who got the indigo kettle that was sold?', { ...later, runId: 'asks' })
    const answer = document('The indigo kettle was sold to Runa', {
      ...later,
      runId: 'asks',
      role: 'assistant',
      searched: true,
    })
    const after = document('the kettle is a nice word', { ...later, runId: 'word' })
    beforeAll(() => harness().store([event, unrelated, question, answer, after]))

    test('does not complete that entry, and the event that the search was about ranks first', async () => {
      for (const text of ['who bought the indigo kettle', 'indigo kettle sold', 'the kettle that was sold to Runa']) {
        const { hits } = await harness().index.search({ scope, text, filters: {}, limit: 10 })
        expect(hits[0]?.messageId, text).toBe(event.messageId)
        const word = hits.find(({ messageId }) => messageId === after.messageId)
        expect(word?.matched.flatMap(({ where }) => where) ?? []).not.toContain('neighbour')
      }
    })
  })
}
