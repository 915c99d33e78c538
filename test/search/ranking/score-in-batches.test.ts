/* Evidence, limits: Scoring yields to other work, whatever the texts are. Searches of different tenants are scored
 * alternately. */
import { expect, test } from 'vitest'
import { mapInBatches } from '../../../functions/search/ranking/score-in-batches.ts'

const DOCUMENTS = Array.from({ length: 40 }, (_, place) => place)

test('a search waits for at most one batch of another tenant before each of its own batches', async () => {
  const read: string[] = []
  const search = (tenant: string) => mapInBatches(tenant, DOCUMENTS, () => read.push(tenant))
  const theirs = Promise.all(Array.from({ length: 20 }, () => search('a')))
  await search('b')
  const others = read.filter((tenant) => tenant === 'a').length
  await theirs
  expect(others).toBeGreaterThanOrEqual(DOCUMENTS.length)
  expect(others).toBeLessThan(DOCUMENTS.length * 1.5)
  expect(read.length).toBe(21 * DOCUMENTS.length)
})

test('each tick of the event loop runs one batch of one search', async () => {
  const read: string[] = []
  const searches = Promise.all(
    ['a', 'a', 'b', 'c'].map((tenant) => mapInBatches(tenant, DOCUMENTS, () => read.push(tenant))),
  )
  for (let round = 1; round <= 10; round++) {
    const before = read.length
    await new Promise((resolve) => setImmediate(resolve))
    expect(read.length - before).toBeLessThanOrEqual(4)
  }
  await searches
})
