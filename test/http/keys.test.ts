import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Caps } from '../../functions/access/rates.ts'
import { expectJson, heldTurn, openHttpHarness } from './harness.ts'
import type { HttpHarness } from './harness.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

let harness: HttpHarness
beforeEach(async () => {
  harness = await openHttpHarness()
})
afterEach(() => harness.close())

const statusOf = async (
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: unknown,
): Promise<number> => (await harness.send(method, path, body, headers)).status

describe('once a key exists', () => {
  test('requests without one get 401 and say how to authenticate', async () => {
    expect(await statusOf('GET', '/v1/sessions', {})).toBe(200)
    await harness.key()
    const response = await harness.send('GET', '/v1/sessions')
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toMatch(/^Bearer/)
  })

  test.each([
    ['no scheme', 'tt_x'],
    ['another scheme', 'Basic dXNlcjpwYXNz'],
    ['a key that is none', 'Bearer tt_short'],
    ['an unknown key', `Bearer tt_${'x'.repeat(43)}`],
    ['an endless key', `Bearer tt_${'x'.repeat(5_000)}`],
    ['two words', `Bearer tt_${'x'.repeat(43)} more`],
  ])('%s responds with 401', async (_name, authorization) => {
    await harness.key()
    expect(await statusOf('GET', '/v1/sessions', { authorization })).toBe(401)
  })

  test('health, the description and the docs stay open, and the description asks for the key', async () => {
    expect(harness.document).not.toHaveProperty('security')
    await harness.key()
    expect(await expectJson(harness, 200, 'GET', '/healthz')).toMatchObject({ status: 'ok' })
    expect(await expectJson(harness, 200, 'GET', '/openapi.json')).toMatchObject({ security: [{ key: [] }] })
    expect(await statusOf('GET', '/docs', {})).toBe(200)
  })

  test('a revoked key responds with 401', async () => {
    const key = await harness.key()
    expect(await statusOf('GET', '/v1/sessions', key)).toBe(200)
    await harness.ports.keys.revoke('key_1', 1)
    expect(await statusOf('GET', '/v1/sessions', key)).toBe(401)
  })
})

describe('scopes', () => {
  test('read allows GET alone, write all else alone, admin both', async () => {
    const read = await harness.key({ scopes: ['read'] })
    const write = await harness.key({ scopes: ['write'] })
    const admin = await harness.key({ scopes: ['admin'] })
    expect(await statusOf('POST', '/v1/sessions', read, { id: 'a' })).toBe(403)
    expect(await statusOf('POST', '/v1/sessions', write, { id: 'a' })).toBe(201)
    expect(await statusOf('GET', '/v1/sessions/a', write)).toBe(403)
    expect(await statusOf('GET', '/v1/sessions/a', read)).toBe(200)
    expect(await statusOf('PATCH', '/v1/sessions/a', read, {})).toBe(403)
    expect(await statusOf('DELETE', '/v1/sessions/a', read)).toBe(403)
    expect(await statusOf('GET', '/v1/sessions/a', admin)).toBe(200)
    expect(await statusOf('DELETE', '/v1/sessions/a', admin)).toBe(200)
  })
})

/** Every way to reach a session, its runs and its messages. */
const reachable = (session: string, run: string, message: string): [string, string, unknown?][] => [
  ['GET', `/v1/sessions/${session}`],
  ['PATCH', `/v1/sessions/${session}`, { title: 'x' }],
  ['GET', `/v1/sessions/${session}/messages`],
  ['GET', `/v1/sessions/${session}/messages?format=openai`],
  ['POST', `/v1/sessions/${session}/messages`, { content: 'x' }],
  ['GET', `/v1/sessions/${session}/messages/${message}/output`],
  ['GET', `/v1/sessions/${session}/runs`],
  ['GET', `/v1/sessions/${session}/runs/${run}`],
  ['GET', `/v1/sessions/${session}/runs/${run}/events`],
  ['POST', `/v1/sessions/${session}/runs/${run}/tool-results`, { results: [{ tool_call_id: 'c', output: '' }] }],
  ['POST', `/v1/sessions/${session}/runs/${run}/cancel`],
  ['POST', `/v1/sessions/${session}/continue`],
  ['DELETE', `/v1/sessions/${session}`],
]

describe.each([
  ['another tenant', { tenant: 'b' }],
  ['another owner', { owner: 'someone' }],
])('a key of %s', (_name, fields) => {
  test('meets the same 404 for a session that exists as for one that does not', async () => {
    const mine = await harness.key()
    const theirs = await harness.key(fields)
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's', owner: 'me' }, mine)
    const run = await expectJson<{ id: string; messages: { id: string }[] }>(
      harness,
      200,
      'POST',
      '/v1/sessions/s/messages',
      { content: 'secret plans' },
      mine,
    )
    for (const [method, path, body] of reachable('s', run.id, run.messages[0]?.id ?? '')) {
      const foreign = await expectJson(harness, 404, method, path, body, theirs)
      const unknown = await expectJson(harness, 404, method, path.replace('/sessions/s', '/sessions/t'), body, theirs)
      const { type, title, status } = unknown
      expect(foreign).toMatchObject({ type, title, status, detail: String(unknown['detail']).replace(/t$/, 's') })
    }
    const hits = await expectJson(harness, 200, 'GET', '/v1/search?q=secret', undefined, theirs)
    const sessions = await expectJson(harness, 200, 'GET', '/v1/sessions', undefined, theirs)
    expect([hits['data'], sessions['data']]).toEqual([[], []])
    expect(await expectJson(harness, 200, 'GET', '/v1/sessions/s', undefined, mine)).toMatchObject({ title: null })
  })
})

describe('a key that is bound to an owner', () => {
  test('makes, lists and finds only sessions of that owner', async () => {
    const all = await harness.key()
    const bound = await harness.key({ owner: 'me' })
    expect(await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'a' }, bound)).toMatchObject({ owner: 'me' })
    await expectJson(harness, 403, 'POST', '/v1/sessions', { id: 'b', owner: 'them' }, bound)
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'c', owner: 'them' }, all)
    const listed = async (query: string): Promise<unknown> =>
      (await expectJson(harness, 200, 'GET', `/v1/sessions${query}`, undefined, bound))['data']
    expect(await listed('')).toMatchObject([{ id: 'a' }])
    expect(await listed('?owner=them')).toEqual([])
    for (const session of ['a', 'c'])
      await expectJson(harness, 200, 'POST', `/v1/sessions/${session}/messages`, { content: 'plans' }, all)
    const found = async (query: string): Promise<unknown> =>
      (await expectJson(harness, 200, 'GET', `/v1/search?q=plans${query}`, undefined, bound))['data']
    expect(await found('')).toMatchObject([{ session_id: 'a' }])
    expect(await found('&owner=them')).toEqual([])
    expect(await found('&session=c')).toEqual([])
  })

  test('sees how far the deletion of its own session has come, and of no other', async () => {
    const all = await harness.key()
    const bound = await harness.key({ owner: 'me' })
    for (const [id, owner] of [
      ['mine', 'me'],
      ['theirs', 'them'],
    ])
      await expectJson(harness, 201, 'POST', '/v1/sessions', { id, owner }, all)
    await expectJson(harness, 404, 'DELETE', '/v1/sessions/theirs', undefined, bound)
    const gone = await expectJson(harness, 200, 'DELETE', '/v1/sessions/mine', undefined, bound)
    await expectJson(harness, 200, 'DELETE', '/v1/sessions/theirs', undefined, all)
    expect(await expectJson(harness, 200, 'GET', '/v1/deletions/mine', undefined, bound)).toEqual(gone)
    await expectJson(harness, 404, 'GET', '/v1/deletions/theirs', undefined, bound)
  })
})

describe('caps', () => {
  test('on requests per second get 429 and say when to come back', async () => {
    const key = await harness.key({ caps: { requestsPerSecond: 2 } })
    const statuses: number[] = []
    for (let count = 0; count < 4; count++) statuses.push(await statusOf('GET', '/v1/sessions', key))
    expect(statuses.slice(0, 2)).toEqual([200, 200])
    expect(statuses).toContain(429)
    const response = await harness.send('GET', '/v1/sessions', undefined, key)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  })

  test('on active runs refuse the next input until one has ended', async () => {
    await harness.close()
    const held = heldTurn()
    harness = await openHttpHarness({ script: [held.turn] })
    const key = await harness.key({ caps: { activeRuns: 1 } })
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' }, key)
    const input = { content: 'x' }
    const once = { ...key, prefer: 'wait=0', 'idempotency-key': 'once' }
    const { id } = await expectJson(harness, 202, 'POST', '/v1/sessions/s/messages', input, once)
    const response = await harness.send('POST', '/v1/sessions/s/messages', input, key)
    expect(response.status).toBe(429)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(await expectJson(harness, 202, 'POST', '/v1/sessions/s/messages', input, once)).toMatchObject({ id })
    held.letGo()
    await expect.poll(() => statusOf('POST', '/v1/sessions/s/messages', key, input)).toBe(200)
  })

  test('on active runs hold for inputs that come at once, also those that take a while to store', async () => {
    await harness.close()
    const held = heldTurn()
    harness = await openHttpHarness({ script: [held.turn] })
    const key = await harness.key({ caps: { activeRuns: 1 } })
    const image = { type: 'image', media_type: 'image/png', data: PNG }
    const sessions = Array.from({ length: 20 }, (_, place) => `s${place}`)
    for (const id of sessions) await expectJson(harness, 201, 'POST', '/v1/sessions', { id }, key)
    const statuses = await Promise.all(
      sessions.map((id) =>
        statusOf('POST', `/v1/sessions/${id}/messages`, { ...key, prefer: 'wait=0' }, { content: [image] }),
      ),
    )
    expect(statuses.toSorted((left, right) => left - right)).toEqual([202, ...Array.from({ length: 19 }, () => 429)])
    held.letGo()
  })
})

describe('caps that the operator sets', () => {
  /** A program with these caps, and a session of a key without any. */
  const spending = async (caps: Caps) => {
    const capped = await openHttpHarness({ settings: { caps } })
    const key = await capped.key()
    await expectJson(capped, 201, 'POST', '/v1/sessions', { id: 'a' }, key)
    return {
      capped,
      key,
      post: (headers = {}) => capped.send('POST', '/v1/sessions/a/messages', { content: 'x' }, { ...key, ...headers }),
    }
  }

  test('a tenant that is named has a budget of its own; the others have that of all', async () => {
    const named = new Map([
      ['small', { tokensPerDay: 1 }],
      ['free', { tokensPerDay: null }],
    ])
    const capped = await openHttpHarness({
      settings: { caps: { keys: {}, tenants: { tokensPerDay: 1_000_000 }, named } },
    })
    const statuses = async (tenant: string): Promise<number[]> => {
      const key = await capped.key({ tenant })
      await expectJson(capped, 201, 'POST', '/v1/sessions', { id: 'a' }, key)
      const found: number[] = []
      for (let at = 0; at < 2; at++)
        found.push((await capped.send('POST', '/v1/sessions/a/messages', { content: 'x' }, key)).status)
      return found
    }
    expect(await statuses('small')).toEqual([200, 429])
    expect(await statuses('free')).toEqual([200, 200])
    expect(await statuses('other')).toEqual([200, 200])
    await capped.close()
  })

  test.each([
    ['key_tokens_used_up', { keys: { tokensPerDay: 1 }, tenants: {} }],
    ['tenant_budget_used_up', { keys: {}, tenants: { tokensPerDay: 1 } }],
  ])('%s: 429 says until when; a repeat is the same run', async (code, caps) => {
    const { capped, post } = await spending(caps)
    const first = await post({ 'idempotency-key': 'k-1' })
    expect(first.status).toBe(200)
    const refused = await post()
    expect(refused.status).toBe(429)
    const seconds = Number(refused.headers.get('retry-after'))
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThanOrEqual(86_400)
    expect(await refused.json()).toMatchObject({ type: `urn:tooltrail:problem:${code}` })
    const again = await post({ 'idempotency-key': 'k-1' })
    expect(again.status).toBe(200)
    expect(await again.json()).toMatchObject({ id: ((await first.json()) as { id: string }).id })
    await capped.close()
  })

  test.each([
    ['key_tokens_used_up', { keys: { tokensPerDay: 1 }, tenants: {} }],
    ['tenant_budget_used_up', { keys: {}, tenants: { tokensPerDay: 1 } }],
  ])(
    '%s: no summary is made by hand either, whatever is imported; a repeat gives the one that was',
    async (code, caps) => {
      const { capped, key, post } = await spending(caps)
      const messages = Array.from({ length: 15 }, (_, at) => `question ${at}`).flatMap((text) => [
        { role: 'user', content: text },
        { role: 'assistant', content: text },
      ])
      const summarise = (name: string) =>
        capped.send('POST', '/v1/sessions/a/consolidate', {}, { ...key, 'idempotency-key': name })
      const add = () => expectJson(capped, 200, 'POST', '/v1/sessions/a/import', { format: 'openai', messages }, key)
      await add()
      const made = await summarise('k-1')
      expect(made.status).toBe(200)
      await post()
      await add()
      const refused = await summarise('k-2')
      expect(refused.status).toBe(429)
      expect(await refused.json()).toMatchObject({ type: `urn:tooltrail:problem:${code}` })
      expect(await (await summarise('k-1')).json()).toEqual(await made.json())
      await capped.close()
    },
  )

  test('a key without a cap on requests has the default one, and its own goes first', async () => {
    const { capped, key } = await spending({ keys: { requestsPerSecond: 1 }, tenants: {} })
    const statuses = async (headers: Record<string, string>) =>
      (await Promise.all([1, 2, 3].map(() => capped.send('GET', '/v1/sessions', undefined, headers)))).map(
        ({ status }) => status,
      )
    expect(await statuses(key)).toContain(429)
    expect(await statuses(await capped.key({ caps: { requestsPerSecond: 100 } }))).not.toContain(429)
    await capped.close()
  })
})
