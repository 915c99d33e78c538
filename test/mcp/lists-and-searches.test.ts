import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../http/harness.ts'
import type { HttpHarness } from '../http/harness.ts'

let harness: HttpHarness
let client: Client
beforeEach(async () => {
  harness = await openHttpHarness()
  client = new Client({ name: 'test', version: '1' })
  const fetch = async (url: string | URL, init?: RequestInit) => harness.program.app.fetch(new Request(url, init))
  await client.connect(new StreamableHTTPClientTransport(new URL('http://localhost:3000/mcp'), { fetch }))
})
afterEach(async () => {
  await client.close()
  await harness.close()
})

type Page = { readonly data: readonly { readonly [name: string]: unknown }[]; readonly next: string | null }

async function call(name: string, input: object) {
  const result = await client.callTool({ name, arguments: { ...input } })
  const text = result.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
  return { text, page: result.structuredContent as unknown as Page, isError: result.isError === true }
}

const made = (id: string, more: object) => expectJson(harness, 201, 'POST', '/v1/sessions', { id, ...more })

describe('a list of sessions', () => {
  test('accepts query words, metadata, an order and times, and shows titles', async () => {
    await made('a', { title: 'Blue crates', metadata: { folder: '/home/ann/shop', source: 'codex', branch: 'main' } })
    await made('b', { title: 'Red crates', metadata: { folder: '/home/ann/blog' } })
    const list = async (input: object) => (await call('list_sessions', { ...input })).page.data.map(({ id }) => id)
    expect(await list({ q: 'cra', sort: 'created_at' })).toEqual(['b', 'a'])
    expect(await list({ q: 'cra', sort: 'created_at', order: 'asc', limit: 1 })).toEqual(['a'])
    expect(await list({ q: 'blue' })).toEqual(['a'])
    expect(await list({ folder: '/home/ann/*', source: 'codex' })).toEqual(['a'])
    expect(await list({ folder: '', q: 'blue' })).toEqual(['a'])
    expect(await list({ branch: 'main' })).toEqual(['a'])
    expect(await list({ sort: 'created_at', since: '2999-01-01' })).toEqual([])
    const { text } = await call('list_sessions', { q: 'blue' })
    expect(text).toMatch(/^a \| \S+Z \| agent default \| Blue crates \| in \/home\/ann\/shop$/u)
    expect((await call('list_sessions', { folder: '/none' })).text).toBe('No session fits.')
  })

  test.each([{ q: '?!' }, { folder: '*' }, { sort: 'newest' }, { since: 'soon' }, { after: 'x'.repeat(41) }])(
    'with %j is refused',
    async (input) => {
      const { text, isError } = await call('list_sessions', input)
      expect([isError, text]).toEqual([true, expect.stringContaining(Object.keys(input)[0] ?? '') as string])
    },
  )

  test('refuses the cursor of another list', async () => {
    for (const id of ['a', 'b', 'c']) await made(id, {})
    const { next } = (await call('list_sessions', { limit: 1 })).page
    expect(next?.length).toBeLessThanOrEqual(40)
    expect((await call('list_sessions', { limit: 1, after: next })).page.data).toHaveLength(1)
    const { text, isError } = await call('list_sessions', { limit: 1, order: 'asc', after: next })
    expect([isError, text]).toEqual([true, expect.stringContaining('cursor') as string])
  })
})

describe('a search', () => {
  test('accepts a folder, an order and groups', async () => {
    await made('crates-1', { title: 'Crates' })
    await made('crates-2', { title: 'More', metadata: { folder: '/home/ann/shop' } })
    for (const id of ['crates-1', 'crates-2', 'crates-2'])
      await expectJson(harness, 200, 'POST', `/v1/sessions/${id}/messages`, {
        content: 'How many blue crates are there?',
      })
    const search = async (input: object) => call('search_history', { query: 'crates', ...input })
    const { page, text } = await search({ folder: '/home/ann/*', group: 'session', sort: 'oldest' })
    expect(page.data).toMatchObject([{ session_id: 'crates-2', folder: '/home/ann/shop', more: 1 }])
    expect(text).toContain(' | “More” | in /home/ann/shop | 1 further hit in this session\nUSER: How')
    expect(await search({ folder: '/none' })).toMatchObject({ text: 'Nothing in the history matches "crates".' })
    for (const wrong of [{ folder: '*' }, { sort: 'best' }, { group: 'run' }, { after: 'x'.repeat(41) }])
      expect(await search(wrong)).toMatchObject({ isError: true })
  })
})
