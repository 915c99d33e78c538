import { setImmediate as nextRound } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { planFound } from '../../../functions/adapters/opensearch/found-vocabulary.ts'
import type { Found } from '../../../functions/adapters/opensearch/search-bodies.ts'
import { parseQuery } from '../../../functions/search/query.ts'

const foundWith = (texts: readonly string[]): Found[] =>
  texts.map((text, place) => ({ _id: String(place), _source: { text } as Found['_source'] }))

/** Milliseconds that this thread has worked, on a machine that others may use. */
function processorTime(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

/** What this work takes in all, and at most between two rounds of the event loop. */
async function timesOf(work: Promise<unknown>): Promise<{ readonly all: number; readonly longest: number }> {
  const before = processorTime()
  let [last, longest, isOver] = [before, 0, false]
  void work.then(() => (isOver = true))
  while (!isOver) {
    await nextRound()
    longest = Math.max(longest, processorTime() - last)
    last = processorTime()
  }
  return { all: last - before, longest }
}

test('a word that no document has stands for those one slip away in the documents found', async () => {
  const counts = { documents: 10, tokens: new Map([['crate', 0]]) }
  const [term] = await planFound(
    parseQuery('crate'),
    { tenant: 't', counts, documents: foundWith(['the crates', 'a crata']) },
    false,
  )
  expect(term?.needles.map(({ text }) => text)).toEqual(['crate', 'crates', 'crata'])
})

test('others get their turn while many documents are read for their words', async () => {
  const letters = 'abcdefghijklmnopqrstuvwxyz'
  const word = (number: number): string =>
    [3, 2, 1, 0].map((at) => letters[Math.floor(number / 26 ** at) % 26]).join('')
  const texts = Array.from({ length: 500 }, (_, place) =>
    Array.from({ length: 800 }, (_one, at) => `qqq${word(place * 800 + at)}`).join(' '),
  )
  const query = 'qqq qqqa qqqb qqqc qqqd qqqe qqqf qqqg'
  const counts = { documents: 500, tokens: new Map(query.split(' ').map((one) => [one, 0])) }
  const planning = planFound(parseQuery(query), { tenant: 't', counts, documents: foundWith(texts) }, true)
  const { all, longest } = await timesOf(planning)
  console.log(all, longest)
  expect(longest).toBeLessThan(all / 5)
})
