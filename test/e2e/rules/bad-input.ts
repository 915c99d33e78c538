import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hashKeySecret, newKeySecret } from '../../../functions/access/key-secret.ts'
import type { OpenAiServer } from '../../model-server/openai-server.ts'
import { startOpenAiServer } from '../../model-server/openai-server.ts'
import type { Backend } from '../backend/backend.ts'
import type { RunBody } from '../backend/client.ts'
import type { InProcess } from '../backend/in-process.ts'
import { decode, HOSTILE_IDS, MALFORMED_BODIES, send, UNKNOWN } from './hostile-requests.ts'
import { startInProcess, testAgent } from '../backend/in-process.ts'

const MEGABYTE = 1024 * 1024

/** Tests that every route refuses invalid requests and stores nothing of them. */
export const badInputOn = (backend: Backend) =>
  describe(`bad input, on ${backend.name}`, () => {
    let model: OpenAiServer
    let program: InProcess
    let own: string
    let foreign: string
    /** Ids of two sessions with a run and a message each: one in the tenant `own`, and one in the tenant `foreign`. */
    const ids: Record<'own' | 'foreign', { session: string; run: string; message: string }> = {
      own: { session: 'mine', run: '', message: '' },
      foreign: { session: 'theirs', run: '', message: '' },
    }

    beforeAll(async () => {
      model = await startOpenAiServer(() => ({ completion: { parts: [{ type: 'text', text: 'well' }] } }))
      const agent = testAgent({ name: 'default', model: 'openai-compatible/any' })
      program = await startInProcess({ backend, agents: [agent], modelBaseUrl: model.baseUrl })
      own = await makeKey('own')
      foreign = await makeKey('foreign')
      for (const [tenant, secret] of [
        ['own', own],
        ['foreign', foreign],
      ] as const) {
        const headers = { authorization: `Bearer ${secret}` }
        const at = ids[tenant]
        await program.client.post('/v1/sessions', { id: at.session }, headers)
        const run = await program.client.post<RunBody>(
          `/v1/sessions/${at.session}/messages`,
          { content: 'hi' },
          headers,
        )
        at.run = run.id
        at.message = run.messages?.[0]?.id ?? ''
      }
    })
    afterAll(async () => {
      await program.close()
      await model.close()
    })

    async function makeKey(tenant: string): Promise<string> {
      const secret = newKeySecret()
      const key = { id: tenant, tenant, scopes: ['read', 'write'], caps: {}, createdAt: 0 } as const
      await program.ports.keys.create(hashKeySecret(secret), key)
      return secret
    }

    const auth = (more: object = {}): object => ({ authorization: `Bearer ${own}`, ...more })
    const json = (more: object = {}): object => auth({ 'content-type': 'application/json', ...more })

    /** Expects a refusal of each request: 4xx, a problem document, and unchanged storage. */
    async function expectRefused(
      requests: readonly { method: string; path: string; headers: object; body?: string | Uint8Array | undefined }[],
      statuses: readonly number[],
    ): Promise<void> {
      const before = await program.place.fingerprint()
      for (const { method, path, headers, body } of requests) {
        const what = `${method} ${path.slice(0, 120)} ${String(body ?? '').slice(0, 60)}`
        const sent = await send(program.client.url, method, path, headers, body)
        expect(statuses, `${what}: ${sent.status} ${sent.text.slice(0, 300)}`).toContain(sent.status)
        if (method === 'HEAD') continue
        expect(sent.type, what).toMatch(/^application\/problem\+json/)
        const problem = JSON.parse(sent.text) as { status: number; title: string; detail: string; request_id: string }
        expect(problem, what).toMatchObject({
          status: sent.status,
          title: expect.any(String),
          request_id: expect.any(String),
        })
        expect(problem.detail.length, what).toBeLessThan(3_000)
      }
      expect(await program.place.fingerprint(), 'nothing is stored').toBe(before)
    }

    /** Every route with an id in its path, filled with this id. */
    const routes = (session: string, run = ids.own.run, message = ids.own.message) => [
      { method: 'GET', path: `/v1/sessions/${session}` },
      { method: 'PATCH', path: `/v1/sessions/${session}`, body: '{"title":"new"}' },
      { method: 'DELETE', path: `/v1/sessions/${session}` },
      { method: 'POST', path: `/v1/sessions/${session}/messages`, body: '{"content":"hello"}' },
      { method: 'GET', path: `/v1/sessions/${session}/messages` },
      { method: 'POST', path: `/v1/sessions/${session}/continue` },
      { method: 'GET', path: `/v1/sessions/${session}/runs` },
      { method: 'GET', path: `/v1/deletions/${session}` },
      ...runRoutes(session, run),
      { method: 'GET', path: `/v1/sessions/${session}/messages/${message}/output` },
    ]
    const runRoutes = (session: string, run: string) => [
      { method: 'GET', path: `/v1/sessions/${session}/runs/${run}` },
      { method: 'GET', path: `/v1/sessions/${session}/runs/${run}/events` },
      { method: 'POST', path: `/v1/sessions/${session}/runs/${run}/cancel` },
      {
        method: 'POST',
        path: `/v1/sessions/${session}/runs/${run}/tool-results`,
        body: '{"results":[{"tool_call_id":"a","output":"b"}]}',
      },
    ]
    const withKey = (list: readonly { method: string; path: string; body?: string }[]) =>
      list.map((one) => ({ ...one, headers: one.body === undefined ? auth() : json() }))

    test('unknown and foreign ids are refused alike, on every route', async () => {
      await expectRefused(withKey(routes('nobody-knows')), [404])
      await expectRefused(withKey(routes('theirs', ids.foreign.run, ids.foreign.message)), [404])
      await expectRefused(withKey(runRoutes('mine', UNKNOWN)), [404])
      await expectRefused(withKey(runRoutes('mine', ids.foreign.run)), [404])
      const outputs = [UNKNOWN, ids.foreign.message].map((id) => `/v1/sessions/mine/messages/${id}/output`)
      await expectRefused(withKey(outputs.map((path) => ({ method: 'GET', path }))), [404])
    })

    test('hostile ids are refused, on every route', async () => {
      const requests = HOSTILE_IDS.flatMap((id) => [
        ...routes(id),
        ...runRoutes('mine', id),
        { method: 'GET', path: `/v1/sessions/mine/messages/${id}/output` },
      ])
      // Some paths are normalized before they are routed, and then name another resource: `/v1/sessions/..` becomes `/v1/`.
      await expectRefused(withKey(requests), [400, 404, 405, 414, 431])
    })

    test('malformed bodies are refused, on every route that takes one', async () => {
      const paths = [
        { method: 'POST', path: '/v1/sessions/mine/messages' },
        { method: 'PATCH', path: '/v1/sessions/mine' },
        { method: 'POST', path: `/v1/sessions/mine/runs/${ids.own.run}/tool-results` },
        { method: 'POST', path: '/v1/sessions' },
      ]
      const requests = paths.flatMap((at) => MALFORMED_BODIES.map((body) => ({ ...at, headers: json(), body })))
      // A request that creates a session needs no body.
      const isAllowed = (one: (typeof requests)[number]): boolean => one.path === '/v1/sessions' && one.body === ''
      await expectRefused(
        requests.filter((one) => !isAllowed(one)),
        [400],
      )
    })

    test('bodies that violate their schema are refused with the path of the fault', async () => {
      const messages = [
        ...[
          {},
          { content: 1 },
          { content: [] },
          { content: null },
          { content: 'a', extra: 1 },
          { content: 'a', on_busy: 'x' },
        ],
        { content: [{ type: 'image', media_type: 'image/png', data: '***' }] },
        { content: [{ type: 'image', media_type: '../../etc', data: 'aGk=' }] },
        { content: [{ type: 'file', media_type: 'text/plain', filename: '../a', data: 'aGk=' }] },
        { content: 'a', user: '' },
        { content: 'a', metadata: { a: 'b'.repeat(20_000) } },
        { content: 'a', tools: [{ name: '../x', description: '', parameters: {} }] },
      ].map((body) => ({ method: 'POST', path: '/v1/sessions/mine/messages', body }))
      const sessions = [
        ...HOSTILE_IDS.filter((id) => !/^[a-z_]/.test(id) || id.length > 128).map((id) => ({ id: decode(id) })),
        ...[{ id: 1 }, { id: '' }, { title: 'a'.repeat(501) }, { metadata: [] }, { owner: '' }, { extra: 1 }],
        { instructions: 'a'.repeat(100_001) },
      ].map((body) => ({ method: 'POST', path: '/v1/sessions', body }))
      const requests = [...messages, ...sessions, { method: 'PATCH', path: '/v1/sessions/mine', body: { title: 1 } }]
      await expectRefused(
        requests.map((one) => ({ ...one, headers: json(), body: JSON.stringify(one.body) })),
        [400],
      )
    })

    test('bodies over 4 MB are refused, with and without a length', async () => {
      const body = JSON.stringify({ content: 'a'.repeat(5 * MEGABYTE) })
      const path = '/v1/sessions/mine/messages'
      await expectRefused([{ method: 'POST', path, headers: json({ 'content-length': body.length }), body }], [413])
      await expectRefused([{ method: 'POST', path, headers: json({ 'transfer-encoding': 'chunked' }), body }], [413])
    })

    test('other media types, methods and addresses are refused', async () => {
      const path = '/v1/sessions/mine/messages'
      const body = '{"content":"hello"}'
      const types = [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'application/xml',
      ]
      await expectRefused(
        types.map((type) => ({ method: 'POST', path, headers: auth({ 'content-type': type }), body })),
        [415],
      )
      await expectRefused([{ method: 'POST', path, headers: auth(), body }], [400, 415])
      await expectRefused(
        ['PUT', 'PATCH', 'DELETE', 'TRACE'].map((method) => ({ method, path, headers: auth() })),
        [405],
      )
      await expectRefused(
        [
          '/v1',
          '/v2/sessions',
          '/v1/sessions/mine/nothing',
          '/v1/../../etc/passwd',
          '//v1/sessions',
          '/v1/sessions//',
        ].map((address) => ({ method: 'GET', path: address, headers: auth() })),
        [404],
      )
    })

    test('invalid parameters are refused', async () => {
      const queries = [
        ...['limit=0', 'limit=a', 'limit=-1', 'limit=1e9', 'limit=99999999999', 'nothing=1'].flatMap((query) => [
          `/v1/sessions?${query}`,
          `/v1/sessions/mine/messages?${query}`,
          `/v1/sessions/mine/runs?${query}`,
          `/v1/search?q=a&${query}`,
        ]),
        ...[
          'after=..',
          'after=%00',
          `after=${'a'.repeat(2_000)}`,
          'roles=nobody',
          'format=xml',
          'run=..',
          'order=up',
        ].map((query) => `/v1/sessions/mine/messages?${query}`),
        ...['after=..', 'status=gone'].map((query) => `/v1/sessions/mine/runs?${query}`),
        ...['after=%00', 'run_status=gone', 'owner='].map((query) => `/v1/sessions?${query}`),
        ...[
          '',
          'role=nobody',
          'status=gone',
          'since=yesterday',
          'until=2026',
          'session=..',
          'after=%00',
          'after=abc',
        ].map((query) => `/v1/search?${query === '' ? '' : 'q=a&'}${query}`),
        `/v1/search?q=${'a'.repeat(2_000)}`,
      ]
      await expectRefused(
        queries.map((path) => ({ method: 'GET', path, headers: auth() })),
        // A cursor that no page returned is unknown.
        [400, 404, 422],
      )
    })

    test('invalid headers are refused', async () => {
      const at = { method: 'POST', path: '/v1/sessions/mine/messages', body: '{"content":"hello"}' }
      await expectRefused([{ ...at, headers: json({ 'idempotency-key': 'a'.repeat(256) }) }], [400])
      await expectRefused([{ ...at, headers: json({ 'idempotency-key': 'ä' }) }], [400])
      for (const authorization of [
        '',
        'Bearer',
        'Bearer tt_x',
        `Bearer ${newKeySecret()}`,
        `Basic ${own}`,
        'a'.repeat(5_000),
      ])
        await expectRefused([{ ...at, headers: json({ authorization }) }], [401])
    })

    test('results without a call, and a continue without a run to continue, are refused', async () => {
      const path = `/v1/sessions/mine/runs/${ids.own.run}/tool-results`
      const results = [
        [{ tool_call_id: 'nobody', output: 'a' }],
        [{ tool_call_id: 'a'.repeat(2_000), error: 'a' }],
        [{ tool_call_id: '\0', approve: true }],
      ]
      await expectRefused(
        results.map((list) => ({ method: 'POST', path, headers: json(), body: JSON.stringify({ results: list }) })),
        [404, 409],
      )
      await expectRefused([{ method: 'POST', path: '/v1/sessions/mine/continue', headers: auth() }], [409])
      await expectRefused([{ method: 'POST', path: '/v1/sessions', headers: json(), body: '{"id":"mine"}' }], [409])
      await expectRefused(
        [{ method: 'POST', path: '/v1/sessions', headers: json(), body: '{"agent":"nobody"}' }],
        [409],
      )
    })
  })
