import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { expectJson, heldTurn, openStage } from './stage.ts'
import type { Stage } from './stage.ts'

let stage: Stage
beforeEach(async () => {
  stage = await openStage()
})
afterEach(() => stage.close())

const statusOf = async (
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: unknown,
): Promise<number> => (await stage.send(method, path, body, headers)).status

describe('once a key exists', () => {
  test('requests without one answer 401 and say how to authenticate', async () => {
    expect(await statusOf('GET', '/v1/sessions', {})).toBe(200)
    await stage.key()
    const response = await stage.send('GET', '/v1/sessions')
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
  ])('%s answers 401', async (_name, authorization) => {
    await stage.key()
    expect(await statusOf('GET', '/v1/sessions', { authorization })).toBe(401)
  })

  test('health, the description and the docs stay open, and the description asks for the key', async () => {
    expect(stage.document).not.toHaveProperty('security')
    await stage.key()
    expect(await expectJson(stage, 200, 'GET', '/healthz')).toMatchObject({ status: 'ok' })
    expect(await expectJson(stage, 200, 'GET', '/openapi.json')).toMatchObject({ security: [{ key: [] }] })
    expect(await statusOf('GET', '/docs', {})).toBe(200)
  })

  test('a revoked key answers 401', async () => {
    const key = await stage.key()
    expect(await statusOf('GET', '/v1/sessions', key)).toBe(200)
    await stage.ports.keys.revoke('key_1', 1)
    expect(await statusOf('GET', '/v1/sessions', key)).toBe(401)
  })
})

describe('scopes', () => {
  test('read allows GET alone, write all else alone, admin both', async () => {
    const read = await stage.key({ scopes: ['read'] })
    const write = await stage.key({ scopes: ['write'] })
    const admin = await stage.key({ scopes: ['admin'] })
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
    const mine = await stage.key()
    const theirs = await stage.key(fields)
    await expectJson(stage, 201, 'POST', '/v1/sessions', { id: 's', owner: 'me' }, mine)
    const run = await expectJson<{ id: string; messages: { id: string }[] }>(
      stage,
      200,
      'POST',
      '/v1/sessions/s/messages',
      { content: 'secret plans' },
      mine,
    )
    for (const [method, path, body] of reachable('s', run.id, run.messages[0]?.id ?? '')) {
      const foreign = await expectJson(stage, 404, method, path, body, theirs)
      const unknown = await expectJson(stage, 404, method, path.replace('/sessions/s', '/sessions/t'), body, theirs)
      const { type, title, status } = unknown
      expect(foreign).toMatchObject({ type, title, status, detail: String(unknown['detail']).replace(/t$/, 's') })
    }
    const hits = await expectJson(stage, 200, 'GET', '/v1/search?q=secret', undefined, theirs)
    const sessions = await expectJson(stage, 200, 'GET', '/v1/sessions', undefined, theirs)
    expect([hits['data'], sessions['data']]).toEqual([[], []])
    expect(await expectJson(stage, 200, 'GET', '/v1/sessions/s', undefined, mine)).toMatchObject({ title: null })
  })
})

describe('a key that is bound to an owner', () => {
  test('makes, lists and finds only sessions of that owner', async () => {
    const all = await stage.key()
    const bound = await stage.key({ owner: 'me' })
    expect(await expectJson(stage, 201, 'POST', '/v1/sessions', { id: 'a' }, bound)).toMatchObject({ owner: 'me' })
    await expectJson(stage, 403, 'POST', '/v1/sessions', { id: 'b', owner: 'them' }, bound)
    await expectJson(stage, 201, 'POST', '/v1/sessions', { id: 'c', owner: 'them' }, all)
    const listed = async (query: string): Promise<unknown> =>
      (await expectJson(stage, 200, 'GET', `/v1/sessions${query}`, undefined, bound))['data']
    expect(await listed('')).toMatchObject([{ id: 'a' }])
    expect(await listed('?owner=them')).toEqual([])
    for (const session of ['a', 'c'])
      await expectJson(stage, 200, 'POST', `/v1/sessions/${session}/messages`, { content: 'plans' }, all)
    const found = async (query: string): Promise<unknown> =>
      (await expectJson(stage, 200, 'GET', `/v1/search?q=plans${query}`, undefined, bound))['data']
    expect(await found('')).toMatchObject([{ session_id: 'a' }])
    expect(await found('&owner=them')).toEqual([])
    expect(await found('&session=c')).toEqual([])
  })

  test('sees how far the deletion of its own session has come, and of no other', async () => {
    const all = await stage.key()
    const bound = await stage.key({ owner: 'me' })
    for (const [id, owner] of [
      ['mine', 'me'],
      ['theirs', 'them'],
    ])
      await expectJson(stage, 201, 'POST', '/v1/sessions', { id, owner }, all)
    await expectJson(stage, 404, 'DELETE', '/v1/sessions/theirs', undefined, bound)
    const gone = await expectJson(stage, 200, 'DELETE', '/v1/sessions/mine', undefined, bound)
    await expectJson(stage, 200, 'DELETE', '/v1/sessions/theirs', undefined, all)
    expect(await expectJson(stage, 200, 'GET', '/v1/deletions/mine', undefined, bound)).toEqual(gone)
    await expectJson(stage, 404, 'GET', '/v1/deletions/theirs', undefined, bound)
  })
})

describe('caps', () => {
  test('on requests per second answer 429 and say when to come back', async () => {
    const key = await stage.key({ caps: { requestsPerSecond: 2 } })
    const statuses: number[] = []
    for (let count = 0; count < 4; count++) statuses.push(await statusOf('GET', '/v1/sessions', key))
    expect(statuses.slice(0, 2)).toEqual([200, 200])
    expect(statuses).toContain(429)
    const response = await stage.send('GET', '/v1/sessions', undefined, key)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  })

  test('on active runs refuse the next input until one has ended', async () => {
    await stage.close()
    const held = heldTurn()
    stage = await openStage({ script: [held.turn] })
    const key = await stage.key({ caps: { activeRuns: 1 } })
    await expectJson(stage, 201, 'POST', '/v1/sessions', { id: 's' }, key)
    const input = { content: 'x' }
    const once = { ...key, prefer: 'wait=0', 'idempotency-key': 'once' }
    const { id } = await expectJson(stage, 202, 'POST', '/v1/sessions/s/messages', input, once)
    const response = await stage.send('POST', '/v1/sessions/s/messages', input, key)
    expect(response.status).toBe(429)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(await expectJson(stage, 202, 'POST', '/v1/sessions/s/messages', input, once)).toMatchObject({ id })
    held.letGo()
    await expect.poll(() => statusOf('POST', '/v1/sessions/s/messages', key, input)).toBe(200)
  })

  test('on active runs hold for inputs that come at once, also those that take a while to store', async () => {
    await stage.close()
    const held = heldTurn()
    stage = await openStage({ script: [held.turn] })
    const key = await stage.key({ caps: { activeRuns: 1 } })
    const image = { type: 'image', media_type: 'image/png', data: 'iVBORw0KGgo=' }
    const sessions = Array.from({ length: 20 }, (_, place) => `s${place}`)
    for (const id of sessions) await expectJson(stage, 201, 'POST', '/v1/sessions', { id }, key)
    const statuses = await Promise.all(
      sessions.map((id) =>
        statusOf('POST', `/v1/sessions/${id}/messages`, { ...key, prefer: 'wait=0' }, { content: [image] }),
      ),
    )
    expect(statuses.toSorted((left, right) => left - right)).toEqual([202, ...Array.from({ length: 19 }, () => 429)])
    held.letGo()
  })
})
