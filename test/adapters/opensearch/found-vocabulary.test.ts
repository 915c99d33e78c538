/* Evidence, limits: Scoring yields to other work, whatever the texts are. Searches of different tenants are scored
 * alternately. */
import { expect, test } from 'vitest'
import { planFound } from '../../../functions/adapters/opensearch/found-vocabulary.ts'
import type { Found } from '../../../functions/adapters/opensearch/search-bodies.ts'
import { parseQuery } from '../../../functions/search/query/query.ts'
import { longestTurn, processorTime } from '../../processor-time.ts'

const foundWith = (texts: readonly string[]): Found[] =>
  texts.map((text, place) => ({ _id: String(place), _source: { text } as Found['_source'] }))

test('an unknown word matches words of the found documents that are one typo away', async () => {
  const counts = { documents: 10, tokens: new Map([['crate', 0]]) }
  const [term] = await planFound(
    parseQuery('crate'),
    { tenant: 't', counts, documents: foundWith(['the crates', 'a crata']) },
    false,
  )
  expect(term?.soughtTexts.map(({ text }) => text)).toEqual(['crate', 'crates', 'crata'])
})

test('other work proceeds while many documents are read for their words', async () => {
  const letters = 'abcdefghijklmnopqrstuvwxyz'
  const word = (number: number): string =>
    [3, 2, 1, 0].map((at) => letters[Math.floor(number / 26 ** at) % 26]).join('')
  const texts = Array.from({ length: 500 }, (_, place) =>
    Array.from({ length: 800 }, (_one, at) => `qqq${word(place * 800 + at)}`).join(' '),
  )
  const query = 'qqq qqqa qqqb qqqc qqqd qqqe qqqf qqqg'
  const counts = { documents: 500, tokens: new Map(query.split(' ').map((one) => [one, 0])) }
  const found = { tenant: 't', counts, documents: foundWith(texts) }
  const before = processorTime()
  const longest = await longestTurn(() => planFound(parseQuery(query), found, true))
  expect(longest).toBeLessThan((processorTime() - before) / 5)
})
