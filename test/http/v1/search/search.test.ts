import { afterEach, describe, expect, test } from 'vitest'
import { TooltrailError } from '../../../../functions/domain/errors.ts'
import { makeTool } from '../../../agent/harness.ts'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'

const shell = makeTool('shell', async () => ({ text: 'On branch main, nothing to commit' }))

interface Hit {
  readonly [field: string]: unknown
}
interface Page {
  readonly data: readonly Hit[]
  readonly next: string | null
  readonly has_more: boolean
}

let harness: HttpHarness
afterEach(() => harness.close())

async function fill(): Promise<void> {
  const turns = [
    { calls: [{ id: 'c1', name: 'shell', arguments: '{"cmd":"git status"}' }] },
    { text: 'The tree is clean.' },
  ]
  harness = await openHttpHarness({ script: [...turns, ...turns], tools: [shell] })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'mine', owner: 'me' })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'theirs', owner: 'them' })
  for (const session of ['mine', 'theirs'])
    await expectJson(harness, 200, 'POST', `/v1/sessions/${session}/messages`, { content: 'Is the tree clean?' })
}
const search = (query: string): Promise<Page> => expectJson<Page>(harness, 200, 'GET', `/v1/search?${query}`)

describe('a search', () => {
  test('finds a tool call with its neighbouring messages', async () => {
    await fill()
    const { data } = await search('q=git+status&session=mine&role=tool_call')
    expect(data).toMatchObject([
      {
        object: 'search_hit',
        session_id: 'mine',
        role: 'tool_call',
        label: 'TOOL CALL',
        tool_name: 'shell',
        tool_call_id: 'c1',
        status: 'completed',
        pointer: expect.stringMatching(/^output:[0-9A-Z]{26}$/) as string,
        agent: 'default',
        owner: 'me',
        before: { label: 'USER', text: 'Is the tree clean?' },
        after: { label: 'TOOL RESULT', text: 'On branch main, nothing to commit' },
      },
    ])
    expect(data[0]?.['snippet']).toContain('«git')
  })

  test('returns all of 180 hits page by page', async () => {
    const turns = Array.from({ length: 3 }, () => ({
      calls: Array.from({ length: 60 }, (_, call) => ({ id: `c${call}`, name: 'shell' })),
    }))
    harness = await openHttpHarness({ script: [...turns, { text: 'done' }], tools: [shell] })
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
    await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'go' })
    const seen = new Set<unknown>()
    let after = ''
    for (
      let page = await search('q=branch+main&limit=50');
      ;
      page = await search(`q=branch+main&limit=50&after=${after}`)
    ) {
      for (const { message_id } of page.data) seen.add(message_id)
      if (page.next === null) break
      after = encodeURIComponent(page.next)
    }
    expect(seen.size).toBe(180)
  })

  test('filters by role, tool, status, owner, agent and time', async () => {
    await fill()
    const count = async (query: string): Promise<number> => (await search(query)).data.length
    expect(await count('q=tree')).toBe(4)
    expect(await count('q=tree&role=user')).toBe(2)
    expect(await count('q=tree&owner=me&role=user')).toBe(1)
    expect(await count('q=branch&tool=shell&status=completed&owner=me')).toBe(1)
    expect(await count('q=branch&status=error')).toBe(0)
    expect(await count('q=tree&agent=other')).toBe(0)
    expect(await count('q=tree&since=2001-01-01T00:00:00Z&until=2999-01-01T00:00:00%2B02:00')).toBe(4)
    expect(await count('q=tree&until=2001-01-01T00:00:00Z')).toBe(0)
    expect(await count('q=tree&since=2001-01-01T00:00:00')).toBe(4)
    const today = new Date().toISOString().slice(0, 10)
    expect(await count(`q=tree&since=${today}&until=${today}`)).toBe(4)
    expect(await count('q=tree&until=2001-01-01')).toBe(0)
  })

  test('returns pages that contain each hit once', async () => {
    await fill()
    const seen: unknown[] = []
    let after = ''
    for (let turn = 0; turn < 6; turn++) {
      const page = await search(`q=tree&limit=1${after}`)
      seen.push(...page.data.map((hit) => `${String(hit['message_id'])} ${String(hit['role'])}`))
      if (page.next === null) break
      after = `&after=${encodeURIComponent(page.next)}`
    }
    expect(seen).toHaveLength(4)
    expect(new Set(seen).size).toBe(4)
  })

  test.each(['"unclosed', 'a AND (b', '*', '\u0000', '😀', '%', 'x'.repeat(1_000), "'; DROP TABLE", 'NEAR/2', ''])(
    'accepts any text: no character is treated as syntax',
    async (text) => {
      await fill()
      expect((await search(`q=${encodeURIComponent(text)}`)).data).toBeInstanceOf(Array)
    },
  )

  test.each([
    '',
    `q=${'x'.repeat(1_001)}`,
    'q=x&role=tool',
    'q=x&tool=',
    'q=x&status=approved',
    'q=x&session=..',
    'q=x&owner=',
    'q=x&agent=',
    'q=x&since=yesterday',
    'q=x&since=2026-02-30',
    'q=x&until=2026-13-01T00:00:00Z',
    'q=x&limit=51',
    'q=x&q=y',
    'q=x&unknown=1',
  ])('with %s is rejected', async (query) => {
    harness = await openHttpHarness()
    expect(await expectJson(harness, 400, 'GET', `/v1/search?${query}`)).toHaveProperty('detail')
  })

  test('with an invalid cursor is rejected', async () => {
    harness = await openHttpHarness()
    for (const after of ['rubbish', '*'])
      expect(await expectJson(harness, 422, 'GET', `/v1/search?q=x&after=${after}`)).toMatchObject({
        errors: [{ path: 'query.after' }],
      })
  })

  test('returns an error, not an empty list, if the index is unavailable', async () => {
    const index = {
      search: () =>
        Promise.reject(new TooltrailError('search_unavailable', 'the index is asleep', { retryable: true })),
      locate: async () => undefined,
      hasSuperseded: async () => false,
    }
    harness = await openHttpHarness({ change: (ports) => ({ ...ports, index }) })
    const response = await harness.send('GET', '/v1/search?q=x')
    expect(response.status).toBe(503)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await response.json()).toMatchObject({ type: 'urn:tooltrail:problem:search_unavailable' })
  })
})
