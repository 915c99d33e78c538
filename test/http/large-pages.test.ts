import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from './harness.ts'
import type { HttpHarness } from './harness.ts'

const MOST = 4 * 1024 * 1024
/** Two bytes of JSON for each character: quotes double, and one of the others takes three. */
const text = (at: number): string => `${at}"思`.repeat(170_000)

let harness: HttpHarness
beforeEach(async () => {
  harness = await openHttpHarness()
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
})
afterEach(() => harness.close())

interface Page {
  readonly data: readonly { readonly role: string; readonly parts?: { text: string }[]; readonly content?: string }[]
  readonly next: string | null
  readonly has_more: boolean
}

async function pages(path: string): Promise<{ readonly all: Page['data'][number][]; readonly sizes: number[] }> {
  const all: Page['data'][number][] = []
  const sizes: number[] = []
  for (let next: string | null = ''; next !== null;) {
    const response = await harness.send('GET', `${path}${next === '' ? '' : `&after=${next}`}`)
    const body = await response.text()
    const page = JSON.parse(body) as Page
    expect(page.has_more).toBe(page.next !== null)
    sizes.push(Buffer.byteLength(body))
    all.push(...page.data)
    next = page.next
  }
  return { all, sizes }
}

describe('a page ends by its bytes, too, and the next one goes on', () => {
  test.each(['order=asc', 'order=desc', 'format=openai'])('with %s', async (query) => {
    for (let at = 0; at < 9; at++)
      await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: text(at) })
    const { all, sizes } = await pages(`/v1/sessions/s/messages?limit=200&${query}`)
    expect(sizes.length).toBeGreaterThan(1)
    for (const size of sizes) expect(size).toBeLessThan(MOST + 1_000)
    const users = all.filter(({ role }) => role === 'user').map((one) => one.content ?? one.parts?.[0]?.text)
    const expected = Array.from({ length: 9 }, (_, at) => text(at))
    expect(users).toEqual(query === 'order=desc' ? expected.toReversed() : expected)
  })

  test('of sessions with long instructions', async () => {
    const instructions = 'x'.repeat(100_000)
    for (let at = 0; at < 50; at++)
      await harness.ports.sessions.create({
        tenant: 'default',
        session: `t${at}`,
        agent: 'default',
        instructions,
        metadata: {},
      })
    const { all, sizes } = await pages('/v1/sessions?limit=100')
    expect(all).toHaveLength(51)
    expect(sizes.length).toBe(2)
    for (const size of sizes) expect(size).toBeLessThan(MOST + 50_000)
  })

  test('with one message at least, however large it is', async () => {
    await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: '\u0001'.repeat(650_000) })
    const { all } = await pages('/v1/sessions/s/messages?limit=200')
    expect(all.map(({ role }) => role)).toEqual(['user', 'assistant'])
  })
})
