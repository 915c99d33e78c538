import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { expectJson, openHttpHarness, statusOf } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'

let harness: HttpHarness
beforeEach(async () => {
  harness = await openHttpHarness()
})
afterEach(() => harness.close())

describe('once a key exists', () => {
  test('requests without a key get 401 with instructions how to authenticate', async () => {
    expect(await statusOf(harness, 'GET', '/v1/sessions', {})).toBe(200)
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
  ])('a request with %s gets 401', async (_name, authorization) => {
    await harness.key()
    expect(await statusOf(harness, 'GET', '/v1/sessions', { authorization })).toBe(401)
  })

  test('health, the OpenAPI document and the docs need no key, and the document describes the key', async () => {
    expect(harness.document).toMatchObject({ security: [{}, { key: [] }] })
    await harness.key()
    expect(await expectJson(harness, 200, 'GET', '/healthz')).toMatchObject({ status: 'ok' })
    expect(await expectJson(harness, 200, 'GET', '/openapi.json')).toMatchObject({ security: [{ key: [] }] })
    expect(await statusOf(harness, 'GET', '/docs', {})).toBe(200)
  })

  test('a request with a revoked key gets 401', async () => {
    const key = await harness.key()
    expect(await statusOf(harness, 'GET', '/v1/sessions', key)).toBe(200)
    await harness.ports.keys.revoke('key_1', 1)
    expect(await statusOf(harness, 'GET', '/v1/sessions', key)).toBe(401)
  })

  test('a request with an expired key gets 401 key_expired on every wire', async () => {
    const key = await harness.key({ expiresAt: Date.UTC(2020, 0, 1) })
    const problem = await expectJson(harness, 401, 'GET', '/v1/sessions', undefined, key)
    expect(problem).toMatchObject({ type: expect.stringMatching(/key_expired$/) as string })
    expect(problem).toMatchObject({ detail: expect.stringContaining('2020-01-01T00:00:00.000Z') as string })
    const facade = await expectJson(harness, 401, 'GET', '/openai/v1/models', undefined, key)
    expect(facade).toMatchObject({ error: { code: 'key_expired' } })
    expect(await statusOf(harness, 'POST', '/mcp', key, {})).toBe(401)
    const later = await harness.key({ expiresAt: Date.now() + 3_600_000 })
    expect(await statusOf(harness, 'GET', '/v1/sessions', later)).toBe(200)
  })

  test('a request stores the time at which its key was last used', async () => {
    const [used] = [await harness.key(), await harness.key()]
    const before = Date.now()
    for (let count = 0; count < 2; count++) await statusOf(harness, 'GET', '/v1/sessions', used)
    const [first, second] = await harness.ports.keys.list()
    expect(first?.lastUsedAt).toBeGreaterThanOrEqual(before)
    expect(second).not.toHaveProperty('lastUsedAt')
  })
})

describe('scopes', () => {
  test('"read" allows only GET, "write" allows only the other methods, and "admin" allows all', async () => {
    const read = await harness.key({ scopes: ['read'] })
    const write = await harness.key({ scopes: ['write'] })
    const admin = await harness.key({ scopes: ['admin'] })
    expect(await statusOf(harness, 'POST', '/v1/sessions', read, { id: 'a' })).toBe(403)
    expect(await statusOf(harness, 'POST', '/v1/sessions', write, { id: 'a' })).toBe(201)
    expect(await statusOf(harness, 'GET', '/v1/sessions/a', write)).toBe(403)
    expect(await statusOf(harness, 'GET', '/v1/sessions/a', read)).toBe(200)
    expect(await statusOf(harness, 'PATCH', '/v1/sessions/a', read, {})).toBe(403)
    expect(await statusOf(harness, 'DELETE', '/v1/sessions/a', read)).toBe(403)
    expect(await statusOf(harness, 'GET', '/v1/sessions/a', admin)).toBe(200)
    expect(await statusOf(harness, 'DELETE', '/v1/sessions/a', admin)).toBe(200)
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
  test('gets the same 404 for existing and unknown sessions', async () => {
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
    expect(await expectJson(harness, 200, 'GET', '/v1/sessions/s', undefined, mine)).toMatchObject({
      title: 'secret plans',
    })
  })
})

describe('a key that is bound to an owner', () => {
  test('creates, lists and finds only sessions of that owner', async () => {
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

  test("sees the progress of the deletion of its owner's sessions, and of no other sessions", async () => {
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
