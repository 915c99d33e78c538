/* Evidence, limits: Pages, runs and contexts are built two at a time, and concurrent equal requests share one result. */
/* Evidence, limits: Unread data is bounded for each tenant and over all clients. A stream ends after its key is revoked. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { makeTool } from '../../agent/harness.ts'
import { expectJson, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'

const MAX_PAGE_BYTES = 4 * 1024 * 1024
/**
 * A text of 1 MB in JSON. Its three repeated characters take six bytes: one for the digit, two for the escaped quote, and
 * three for `思`.
 */
const text = (at: number): string => `${at}"思`.repeat(170_000)

let harness: HttpHarness
beforeEach(async () => {
  harness = await openHttpHarness()
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
})
afterEach(() => harness.close())

interface Page {
  readonly data: readonly {
    readonly id: string
    readonly role: string
    readonly parts?: { text: string }[]
    readonly content?: string
  }[]
  readonly next: string | null
  readonly has_more: boolean
}

/** All pages of a list, or those that follow `after`. */
async function pages(
  path: string,
  after = '',
): Promise<{ readonly all: Page['data'][number][]; readonly sizes: number[] }> {
  const all: Page['data'][number][] = []
  const sizes: number[] = []
  for (let next: string | null = after; next !== null;) {
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

describe('a page also ends at its limit of bytes, and the next page continues', () => {
  test('in both orders, and in another format', async () => {
    const expected = Array.from({ length: 9 }, (_, at) => text(at))
    for (const content of expected) await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content })
    for (const query of ['order=asc', 'order=desc', 'format=openai']) {
      const { all, sizes } = await pages(`/v1/sessions/s/messages?limit=200&${query}`)
      expect(sizes.length).toBeGreaterThan(1)
      for (const size of sizes) expect(size).toBeLessThan(MAX_PAGE_BYTES + 1_000)
      const users = all.filter(({ role }) => role === 'user').map((one) => one.content ?? one.parts?.[0]?.text)
      expect(users, query).toEqual(query === 'order=desc' ? expected.toReversed() : expected)
    }
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
    for (const size of sizes) expect(size).toBeLessThan(MAX_PAGE_BYTES + 50_000)
  })

  test('with at least one message, however large it is', async () => {
    await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: '\u0001'.repeat(650_000) })
    const { all } = await pages('/v1/sessions/s/messages?limit=200')
    expect(all.map(({ role }) => role)).toEqual(['user', 'assistant'])
  })
})

describe('the response of a request that waits for its run', () => {
  interface Answer {
    readonly id: string
    readonly status: string
    readonly messages: readonly { readonly id: string; readonly role: string }[]
    readonly messages_next?: string
  }
  const CALLS = Array.from({ length: 64 }, (_, at) => ({ id: `c${at}`, name: 'big', arguments: '{}' }))
  const big = makeTool('big', async () => ({ text: 'x'.repeat(45_000) }))

  test('is limited like a page, names the next page, and is equal when it is requested again', async () => {
    await harness.close()
    harness = await openHttpHarness({ script: [{ calls: CALLS }, { calls: CALLS }, { text: 'done' }], tools: [big] })
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
    const key = { 'idempotency-key': 'k' }
    const send = async (): Promise<string> =>
      (await harness.send('POST', '/v1/sessions/s/messages', { content: 'go' }, key)).text()
    const first = await send()
    expect(Buffer.byteLength(first)).toBeLessThan(MAX_PAGE_BYTES + 5_000)
    expect(Buffer.byteLength(first)).toBeGreaterThan(MAX_PAGE_BYTES - 50_000)
    const { id, status, messages, messages_next: next } = JSON.parse(first) as Answer
    expect([status, messages.at(-1)?.id]).toEqual(['completed', next])
    const rest = await pages(`/v1/sessions/s/messages?run=${id}&order=asc&limit=200`, next)
    const ids = [...messages, ...rest.all].map((one) => one.id)
    expect(new Set(ids).size).toBe(132)
    expect(ids).toEqual(ids.toSorted())
    expect(await Promise.all([send(), send()])).toEqual([first, first])
  })

  test('has no next page if it is complete', async () => {
    const run = await expectJson<Answer>(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'hi' })
    expect(run.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect(run).not.toHaveProperty('messages_next')
  })
})
