import { fc } from '../../generators/seeded.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { expectJson, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'

const ULID = '01JD2Q8N4T6W8Y0A2C4E6G8J0K'
let harness: HttpHarness
beforeAll(async () => {
  harness = await openHttpHarness()
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
})
afterAll(() => harness.close())

/** Each route with `X` where an id goes. */
const ROUTES: readonly [string, string, unknown?][] = [
  ['GET', '/v1/sessions/X'],
  ['PATCH', '/v1/sessions/X', { title: 'x' }],
  ['DELETE', '/v1/sessions/X'],
  ['GET', '/v1/sessions/X/messages'],
  ['POST', '/v1/sessions/X/messages', { content: 'x' }],
  ['GET', `/v1/sessions/X/messages/${ULID}/output`],
  ['GET', '/v1/sessions/s/messages/X/output'],
  ['GET', `/v1/sessions/s/messages/${ULID}/output?part=X`],
  ['GET', '/v1/sessions/X/runs'],
  ['GET', '/v1/sessions/s/runs/X'],
  ['GET', '/v1/sessions/s/runs/X/events'],
  ['POST', '/v1/sessions/s/runs/X/cancel'],
  ['POST', '/v1/sessions/s/runs/X/tool-results', { results: [{ tool_call_id: 'c', output: '' }] }],
  ['POST', '/v1/sessions/X/continue'],
  ['GET', '/v1/deletions/X'],
  ['GET', '/v1/search?q=x&session=X'],
  ['GET', '/v1/sessions/s/messages?after=X'],
  ['GET', '/v1/sessions/s/runs?after=X'],
]
const HOSTILE = [
  '..',
  '.',
  '%2e%2e',
  '%2e%2e%2f%2e%2e%2fetc%2fpasswd',
  '%00',
  'a%00b',
  '%',
  '%zz',
  '%c3%28',
  '%ed%a0%80',
  '%F0%9F%98%80',
  'x'.repeat(10_240),
  '%27%3B--',
  '__proto__',
  '%0d%0aX-Evil:1',
  '-',
  '%20',
]

async function expectRefused(method: string, path: string, body?: unknown): Promise<void> {
  const response = await harness.send(method, path, body)
  expect(response.status, `${method} ${path}`).toBeGreaterThanOrEqual(400)
  expect(response.status, `${method} ${path}`).toBeLessThan(500)
  expect(response.headers.get('content-type')).toBe('application/problem+json')
  expect(response.headers.get('x-evil')).toBeNull()
}

describe('a hostile id', () => {
  test.each(ROUTES)('is rejected by %s %s, and nothing is stored', async (method, path, body) => {
    for (const id of HOSTILE) {
      // The client removes dot segments before it sends the request. The address is then that of another route, or
      // unknown.
      if (id === '.' || id === '..' || id === '%2e%2e') await harness.send(method, path.replace('X', id), body)
      else await expectRefused(method, path.replace('X', id), body)
    }
    const { data } = await expectJson<{ data: unknown[] }>(harness, 200, 'GET', '/v1/sessions')
    expect(data).toHaveLength(1)
  })

  test('never causes a 5xx, whatever its characters', async () => {
    const anything = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme', maxLength: 300 }))
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...ROUTES), anything, fc.boolean(), async ([method, path, body], id, raw) => {
        if (method === 'DELETE' || method === 'POST') fc.pre(id !== 's')
        const text = raw ? id.replaceAll(/[^\u0021-\u007e]|[#?/\\]/g, '') : encodeURIComponent(id.toWellFormed())
        const response = await harness.send(
          method,
          path.replace('X', () => text),
          body,
        )
        expect(response.status).toBeLessThan(500)
      }),
      { numRuns: 300 },
    )
  })
})

describe('any body', () => {
  test('of JSON gets 2xx or 4xx, never 5xx', async () => {
    const posts = ROUTES.filter(([, , body]) => body !== undefined).map(
      ([method, path]) => [method, path.replace('X', 's')] as const,
    )
    const keys = fc.constantFrom(
      'content',
      'tools',
      'metadata',
      'results',
      'output',
      'tool_call_id',
      'title',
      'type',
      'text',
      '__proto__',
    )
    const value = fc.letrec((tie) => ({
      node: fc.oneof({ maxDepth: 4 }, fc.jsonValue(), fc.array(tie('node')), fc.dictionary(keys, tie('node'))),
    })).node
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...posts, ['POST', '/v1/sessions'] as const),
        value,
        async ([method, path], body) => {
          const response = await harness.send(method, path, JSON.stringify(body) ?? 'null', { prefer: 'respond-async' })
          expect(response.status).toBeLessThan(500)
        },
      ),
      { numRuns: 300 },
    )
  })
})

describe('a request that cannot be served', () => {
  test('to an unknown address gets 404 and a problem document', async () => {
    for (const path of ['/v1', '/v1/nothing', '/v1/sessions/s/', '/V1/sessions', '//v1/sessions'])
      expect(await expectJson(harness, 404, 'GET', path)).toMatchObject({ status: 404, title: 'Not found' })
  })

  test('with a wrong method gets 405 and the allowed methods', async () => {
    const response = await harness.send('PUT', '/v1/sessions/s')
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')?.split(', ').toSorted()).toEqual(['DELETE', 'GET', 'HEAD', 'PATCH'])
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    for (const [method, path] of [
      ['DELETE', '/v1/sessions'],
      ['POST', '/v1/search'],
      ['PATCH', '/v1/sessions'],
      ['GET', '/v1/sessions/s/continue'],
      ['OPTIONS', '/v1/sessions'],
      ['POST', '/healthz'],
    ] as const)
      await expectJson(harness, 405, method, path)
  })

  test.each([
    ['text/plain', '{"content":"x"}'],
    ['application/x-www-form-urlencoded', 'content=x'],
    ['multipart/form-data; boundary=x', '--x--'],
    ['application/jsonx', '{}'],
  ])('with a body of %s gets 415', async (type, body) => {
    const problem = await expectJson(harness, 415, 'POST', '/v1/sessions/s/messages', body, { 'content-type': type })
    expect(problem['detail']).toContain('content-type: application/json')
    await expectJson(harness, 415, 'POST', '/v1/sessions', body, { 'content-type': type })
    expect((await harness.send('GET', '/v1/sessions')).status).toBe(200)
  })

  test.each(['', '{', '{"content":}', 'null null', '\ufeff', '{"content":"\u0000"}', "{'content':'x'}"])(
    'with malformed JSON gets 400',
    async (body) => {
      const problem = await expectJson(harness, 400, 'POST', '/v1/sessions/s/messages', body)
      expect(problem['title']).toBe('Bad request')
    },
  )

  test.each(['5', '1.50', '12345678901234567890', '1e400', '"x"', 'null', '[]'])(
    'with the body %s, which is no object, gets 400',
    async (body) => {
      for (const path of ['/v1/sessions', '/openai/v1/conversations', '/openai/v1/responses/input_tokens']) {
        const answer = await expectJson(harness, 400, 'POST', path, body)
        expect(JSON.stringify(answer)).toContain('the request is not valid: body must be an object')
      }
    },
  )

  test('with JSON that is not UTF-8, or nested too deeply, gets 400', async () => {
    const bytes = new Uint8Array([...Buffer.from('{"content":"'), 0xc3, 0x28, ...Buffer.from('"}')])
    await expectJson(harness, 400, 'POST', '/v1/sessions/s/messages', bytes)
    const nested = `{"content":"x","metadata":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`
    const problem = await expectJson(harness, 400, 'POST', '/v1/sessions/s/messages', nested)
    expect(problem['detail']).toContain('nested')
  })

  test('with more than 4 MB gets 413, also without a length header', async () => {
    const chunk = new TextEncoder().encode('x'.repeat(1024 * 1024))
    let sent = 0
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += chunk.length
        controller.enqueue(chunk)
      },
    })
    await expectJson(harness, 413, 'POST', '/v1/sessions/s/messages', endless)
    expect(sent).toBeLessThan(24 * 1024 * 1024)
    await expectJson(harness, 413, 'POST', '/v1/sessions/s/messages', 'x'.repeat(4 * 1024 * 1024 + 1))
    await expectJson(harness, 413, 'POST', '/v1/sessions/s/messages', '{}', { 'content-length': '99999999' })
  })

  test('over 4 MB is rejected after the body was read, because a sending client reads no response', async () => {
    const chunk = new TextEncoder().encode('x'.repeat(1024 * 1024))
    let left = 9
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => (left-- > 0 ? controller.enqueue(chunk) : controller.close()),
    })
    await expectJson(harness, 413, 'POST', '/v1/sessions/s/messages', body, {
      'content-length': String(9 * 1024 * 1024),
    })
    expect(left).toBeLessThan(0)
  })

  test('with an empty stream as its body counts as a request without a body', async () => {
    const empty = new ReadableStream<Uint8Array>({ start: (controller) => controller.close() })
    const response = await harness.program.app.fetch(
      new Request('http://localhost:3000/v1/sessions/s/continue', {
        method: 'POST',
        body: empty,
        duplex: 'half',
      } as RequestInit),
    )
    expect(response.status).toBe(409)
    expect(await response.json()).toMatchObject({ type: 'urn:tooltrail:problem:nothing_to_continue' })
  })
})

describe('every response', () => {
  test("has the client's request id if that id is valid, otherwise a new one", async () => {
    const id = 'trace-1.a_B'
    expect(
      (await harness.send('GET', '/v1/sessions', undefined, { 'x-request-id': id })).headers.get('x-request-id'),
    ).toBe(id)
    for (const insane of ['a b', 'x'.repeat(65), '<script>']) {
      const response = await harness.send('GET', '/nothing', undefined, { 'x-request-id': insane })
      const { request_id: given } = (await response.json()) as { request_id: string }
      expect(given).toMatch(/^[0-9a-f-]{36}$/)
      expect(response.headers.get('x-request-id')).toBe(given)
    }
  })

  test('is logged as one line, without query, body or key', async () => {
    const from = harness.lines.length
    await harness.send('GET', '/v1/search?q=topsecret', undefined, {
      'x-request-id': 'logged',
      authorization: 'Bearer tt_topsecret',
    })
    const lines = harness.lines.slice(from)
    expect(lines).toMatchObject([
      {
        level: 'info',
        message: 'request',
        fields: { request_id: 'logged', method: 'GET', path: '/v1/search', status: 401 },
      },
    ])
    expect(JSON.stringify(lines)).not.toContain('topsecret')
  })

  test('may not be framed, sniffed or cached', async () => {
    expect(Object.fromEntries((await harness.send('GET', '/v1/sessions/s')).headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'content-security-policy': "default-src 'none'",
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    })
  })

  test('to an unexpected error is 500 with only the request id; the stack is in the log', async () => {
    const failing = await openHttpHarness({
      change: (ports) => ({
        ...ports,
        sessions: { ...ports.sessions, read: () => Promise.reject(new Error('at /secret/path')) },
      }),
    })
    try {
      const problem = await expectJson(failing, 500, 'GET', '/v1/sessions/s', undefined, { 'x-request-id': 'broken' })
      expect(problem).toMatchObject({ status: 500, request_id: 'broken' })
      expect(JSON.stringify(problem)).not.toContain('secret')
      const line = failing.lines.find(({ level }) => level === 'error')
      expect(line?.fields).toMatchObject({ request_id: 'broken', cause: new Error('at /secret/path') })
    } finally {
      await failing.close()
    }
  })
})
