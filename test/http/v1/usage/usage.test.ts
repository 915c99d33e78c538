/* Evidence, usage: The tokens of each completion count once, and remain counted after the session is deleted. */
/* Evidence, usage: A completion still counts against the budget if it is cancelled, or its session is deleted, before its
 * usage arrives. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { definedFields } from '../../../../functions/domain/defined-fields.ts'
import { expectJson, heldTurn, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'

interface UsagePage {
  readonly data: readonly {
    readonly key: string | null
    readonly completions: number
    readonly usage: { readonly total_tokens: number | null }
    readonly cost_usd?: number
    readonly unpriced_models?: readonly string[]
  }[]
  readonly next: string | null
  readonly has_more: boolean
  readonly price_lists: { readonly [provider: string]: string }
}

describe('GET /v1/usage', () => {
  let harness: HttpHarness
  let alice: { authorization: string }
  let admin: { authorization: string }
  beforeAll(async () => {
    harness = await openHttpHarness()
    admin = await harness.key({ scopes: ['admin'] })
    alice = await harness.key({ owner: 'alice' })
    for (const [id, owner] of [
      ['s-1', 'alice'],
      ['s-2', 'bob'],
      ['s-3', undefined],
    ] as const) {
      await expectJson(harness, 201, 'POST', '/v1/sessions', { id, ...definedFields({ owner }) }, admin)
      await expectJson(harness, 200, 'POST', `/v1/sessions/${id}/messages`, { content: 'hello' }, admin)
    }
  })
  afterAll(() => harness.close())

  const ask = (query: string, as = admin): Promise<UsagePage> =>
    expectJson<UsagePage>(harness, 200, 'GET', `/v1/usage${query}`, undefined, as)

  test('sums by day, agent, owner, session and model; a model without a price is named and costs nothing', async () => {
    const today = new Date().toISOString().slice(0, 10)
    const { data, has_more: more, price_lists: lists } = await ask('')
    expect(lists).toEqual({ anthropic: '2026-11', openai: '2026-06' })
    expect(data).toMatchObject([{ key: today, completions: 3, unpriced_models: ['script/ed'] }])
    expect(data[0]).not.toHaveProperty('cost_usd')
    expect(more).toBe(false)
    expect((await ask('?by=agent')).data.map(({ key }) => key)).toEqual(['default'])
    expect((await ask('?by=model')).data.map(({ key }) => key)).toEqual(['script/ed'])
    expect((await ask('?by=owner')).data.map(({ key }) => key)).toEqual([null, 'alice', 'bob'])
    expect((await ask('?by=session')).data.map(({ key }) => key)).toEqual(['s-1', 's-2', 's-3'])
  })

  test('returns a cost for a model with a known price', async () => {
    const priced = await openHttpHarness({
      change: (ports) => ({
        ...ports,
        usage: {
          ...ports.usage,
          sums: async () =>
            ['anthropic/claude-sonnet-5-5', 'own/model'].map((model) => ({
              group: 'x',
              model,
              completions: 1,
              usage: {
                inputTokens: 1_000,
                cachedInputTokens: 400,
                cacheWriteTokens: 100,
                outputTokens: 200,
                reasoningTokens: 50,
                totalTokens: 1_200,
              },
            })),
        },
      }),
    })
    const { data } = await expectJson<UsagePage>(priced, 200, 'GET', '/v1/usage')
    // (500 × $2 + 400 × $0.10 + 100 × $2.50 + 200 × $10) / 10^6
    expect(data).toMatchObject([{ cost_usd: 0.00329, unpriced_models: ['own/model'], completions: 2 }])
    await priced.close()
  })

  test("shows a key that is bound to an owner only this owner's usage, for every grouping", async () => {
    for (const by of ['day', 'agent', 'model'])
      expect((await ask(`?by=${by}`, alice)).data).toMatchObject([{ completions: 1 }])
    expect((await ask('?by=owner', alice)).data.map(({ key }) => key)).toEqual(['alice'])
    expect((await ask('?by=session', alice)).data.map(({ key }) => key)).toEqual(['s-1'])
  })

  test('returns pages of `limit` groups, each with the position of the next page', async () => {
    const first = await ask('?by=owner&limit=1')
    expect(first).toMatchObject({ data: [{ key: null }], has_more: true })
    const second = await ask(`?by=owner&limit=1&after=${first.next}`)
    expect(second).toMatchObject({ data: [{ key: 'alice' }], has_more: true })
    expect(await ask(`?by=owner&limit=1&after=${second.next}`)).toMatchObject({ data: [{ key: 'bob' }], next: null })
  })

  test('keeps the usage of a deleted session', async () => {
    await expectJson(harness, 200, 'DELETE', '/v1/sessions/s-2', undefined, admin)
    expect((await ask('?by=session')).data.map(({ key }) => key)).toContain('s-2')
  })

  test.each([
    ['by=month', 'query.by'],
    ['from=2026-13-01', 'query.from'],
    ['from=2026-11-01T00:00:00Z', 'query.from'],
    ['from=2026-02-02&to=2026-02-01', 'query.from'],
    ['from=2020-01-01&to=2026-02-01', 'query.from'],
    ['limit=0', 'query.limit'],
    ['owner=bob', 'query.owner'],
  ])('rejects %s with its path', async (query, path) => {
    const { errors } = await expectJson<{ errors: { path: string }[] }>(
      harness,
      400,
      'GET',
      `/v1/usage?${query}`,
      undefined,
      admin,
    )
    expect(errors[0]?.path).toBe(path)
  })

  test.each(['abc', 'W10', '*', 'x'.repeat(65)])('rejects the invalid cursor %s', async (after) => {
    const problem = await expectJson(harness, 422, 'GET', `/v1/usage?after=${after}`, undefined, admin)
    expect(problem['errors']).toMatchObject([{ path: 'query.after' }])
  })

  test('returns cursors of at most 64 characters for keys of any length, and rejects cursors of other lists', async () => {
    const { next } = await ask('?by=owner&limit=1')
    const problem = await expectJson(harness, 422, 'GET', `/v1/usage?by=session&after=${next}`, undefined, admin)
    expect(problem['errors']).toMatchObject([{ path: 'query.after' }])
    const id = 's'.repeat(128)
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id }, admin)
    await expectJson(harness, 200, 'POST', `/v1/sessions/${id}/messages`, { content: 'hi' }, admin)
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'z' }, admin)
    await expectJson(harness, 200, 'POST', '/v1/sessions/z/messages', { content: 'hi' }, admin)
    const first = await ask('?by=session&limit=4')
    expect(first.data.at(-1)?.key).toBe(id)
    expect(first.next?.length).toBeLessThanOrEqual(64)
    expect((await ask(`?by=session&after=${first.next}`)).data.map(({ key }) => key)).toEqual(['z'])
  })
})

test('a client that cancels each completion still uses up its daily tokens', async () => {
  const harness = await openHttpHarness({
    script: [heldTurn().turn, heldTurn().turn, heldTurn().turn],
    settings: { caps: { keys: {}, tenants: { tokensPerDay: 1_500 } } },
  })
  const key = await harness.key()
  const content = 'word '.repeat(1_000)
  const statuses: number[] = []
  for (const id of ['a', 'b', 'c']) {
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id }, key)
    const asked = await harness.send('POST', `/v1/sessions/${id}/messages`, { content }, { ...key, prefer: 'wait=0' })
    statuses.push(asked.status)
    if (asked.status !== 202) continue
    const { id: run } = (await asked.json()) as { id: string }
    await expect
      .poll(async () => (await harness.send('GET', `/v1/sessions/${id}/runs/${run}`, undefined, key)).json())
      .toMatchObject({ status: 'running' })
    await harness.send('POST', `/v1/sessions/${id}/runs/${run}/cancel`, {}, key)
    await expect
      .poll(async () => (await harness.send('GET', `/v1/sessions/${id}/runs/${run}`, undefined, key)).json())
      .toMatchObject({ status: 'cancelled', usage: { total_tokens: null } })
  }
  expect(statuses).toEqual([202, 202, 429])
  const { data } = await expectJson<UsagePage>(harness, 200, 'GET', '/v1/usage?by=session', undefined, key)
  expect(data.map(({ key: id, completions }) => [id, completions])).toEqual([
    ['a', 1],
    ['b', 1],
  ])
  for (const { usage } of data) expect(usage.total_tokens).toBeGreaterThan(900)
  await harness.close()
})
