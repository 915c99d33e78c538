/* Evidence, search: Superseded hits have a mark, follow all other hits over all pages, and can be omitted. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'

interface Hit {
  readonly session_id: string
  readonly run_id: string
  readonly snippet: string
  readonly superseded_by?: string
}

let harness: HttpHarness
afterEach(() => harness.close())

/** Pages of all hits. */
async function search(query: string): Promise<Hit[]> {
  const hits: Hit[] = []
  for (let after = ''; ;) {
    const page = await expectJson<{ data: Hit[]; next: string | null }>(
      harness,
      200,
      'GET',
      `/v1/search?${query}${after}`,
    )
    hits.push(...page.data)
    if (page.next === null) return hits
    expect(page.next.length).toBeLessThanOrEqual(40)
    after = `&after=${encodeURIComponent(page.next)}`
  }
}
const marksOf = (hits: readonly Hit[]): boolean[] => hits.map(({ superseded_by: by }) => by !== undefined)

beforeEach(async () => {
  harness = await openHttpHarness()
  const say = async (session: string, body: object): Promise<string> =>
    (await expectJson<{ id: string }>(harness, 200, 'POST', `/v1/sessions/${session}/messages`, body)).id
  for (const id of ['one', 'two']) await expectJson(harness, 201, 'POST', '/v1/sessions', { id })
  const first = await say('one', { content: 'walrus walrus walrus' })
  const second = await say('one', { content: 'a walrus and tusks' })
  await say('one', { content: 'the walrus sleeps', replaces: second })
  const third = await say('two', { content: 'walrus in session two' })
  await say('two', { content: 'nothing here', replaces: third })
  expect(first < second).toBe(true)
})

test.each([1, 2, 3, 4, 50])('superseded hits follow all others, in pages of %i', async (limit) => {
  const hits = await search(`q=walrus&limit=${limit}`)
  expect(marksOf(hits)).toEqual([false, false, true, true])
  expect(new Set(hits.map(({ snippet }) => snippet)).size).toBe(4)
  expect(marksOf(await search(`q=&role=user&limit=${limit}`))).toEqual([false, false, false, true, true])
})

test('a filter omits superseded hits, or omits all other hits', async () => {
  expect(marksOf(await search('q=walrus&superseded=false&limit=1'))).toEqual([false, false])
  expect(marksOf(await search('q=walrus&superseded=true&limit=1'))).toEqual([true, true])
  expect(marksOf(await search('q=tusks'))).toEqual([true])
})

test('a search sorted by time does not move superseded hits to the end', async () => {
  expect(marksOf(await search('q=walrus&sort=oldest'))).toEqual([false, true, false, true])
})

test.each([1, 2, 50])(
  'a grouped search shows a superseded hit only for sessions without other hits, in pages of %i',
  async (limit) => {
    const hits = await search(`q=walrus&group=session&limit=${limit}`)
    expect(hits.map(({ session_id: session }) => session)).toEqual(['one', 'two'])
    expect(marksOf(hits)).toEqual([false, true])
  },
)
