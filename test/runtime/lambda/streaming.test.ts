/* Evidence, limits: A Lambda response is aborted if its client reads less than 64 KB in five minutes, but not earlier. */
/* Evidence, cloud: Every response of the API has a status and headers on Lambda. */
import { PassThrough } from 'node:stream'
import type { APIGatewayProxyEvent, Context } from 'aws-lambda'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { placeOf } from '../../../functions/runtime/lambda/proxy-event.ts'
import { createStreamingHandler } from '../../../functions/runtime/lambda/streaming.ts'
import type { Respond } from '../../../functions/runtime/lambda/streaming.ts'
import { eventOf, putLambdaGlobal, removeLambdaGlobal, streamed } from './lambda-global.ts'
import type { Streamed } from './lambda-global.ts'

beforeEach(() => putLambdaGlobal())
afterEach(() => {
  vi.useRealTimers()
  removeLambdaGlobal()
})

const call = (event: APIGatewayProxyEvent, respond: Respond): Promise<Streamed> =>
  streamed(
    createStreamingHandler(respond, (_context, work) => work()),
    event,
  )

test('status, headers and bytes are sent as the app returned them', async () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte)
  const { prelude, body } = await call(eventOf('/output'), async () => {
    return new Response(bytes, {
      status: 206,
      headers: { 'content-type': 'image/png', 'content-range': 'bytes 0-255/300' },
    })
  })
  expect(prelude).toMatchObject({
    statusCode: 206,
    headers: { 'content-type': 'image/png', 'content-range': 'bytes 0-255/300' },
  })
  expect(new Uint8Array(body)).toEqual(bytes)
})

test('a response without a body also has its prelude', async () => {
  const { prelude, body } = await call(eventOf('/v1/x'), async () => new Response(null, { status: 204 }))
  expect([prelude.statusCode, body.length]).toEqual([204, 0])
})

test('the app receives method, query, headers and the exact bytes of the body', async () => {
  const sent = Buffer.from([0x7b, 0xff, 0x00, 0x7d])
  const seen: unknown[] = []
  const fields = {
    httpMethod: 'POST',
    headers: { 'X-One': 'a' },
    multiValueHeaders: { 'X-One': ['a'], Accept: ['text/a', 'text/b'] },
    multiValueQueryStringParameters: { q: ['ä b', 'c'] },
    body: sent.toString('base64'),
    isBase64Encoded: true,
  }
  await call(eventOf('/v1/x', fields), async (request) => {
    const url = new URL(request.url)
    seen.push(request.method, url.pathname, url.searchParams.getAll('q'))
    seen.push(request.headers.get('x-one'), request.headers.get('accept'), Buffer.from(await request.arrayBuffer()))
    return new Response()
  })
  expect(seen).toEqual(['POST', '/v1/x', ['ä b', 'c'], 'a', 'text/a, text/b', sent])
})

test('a GET request with a body is served without the body', async () => {
  const { prelude } = await call(eventOf('/healthz', { body: 'whatever' }), async (request) => {
    return new Response(null, { status: request.body === null ? 200 : 400 })
  })
  expect(prelude.statusCode).toBe(200)
})

test('absolute paths in headers of the app get the stage as prefix', async () => {
  const created = async (): Promise<Response> =>
    new Response(null, { status: 201, headers: { location: '/v1/sessions/a' } })
  expect((await call(eventOf('/v1/sessions'), created)).prelude.headers['location']).toBe('/live/v1/sessions/a')
})

test.each([
  ['the address of the API itself', '/v1/a', 'v1/a', '/live/v1/a', { base: '/live', path: '/v1/a' }],
  ['its root', '/', undefined, '/live', { base: '/live', path: '/' }],
  ['its root with a slash', '/', undefined, '/live/', { base: '/live', path: '/' }],
  ['a custom domain', '/v1/a', 'v1/a', '/v1/a', { base: '', path: '/v1/a' }],
  ['a custom domain with a base path', '/agents/v1/a', 'v1/a', '/agents/v1/a', { base: '/agents', path: '/v1/a' }],
  ['its base path alone', '/agents', undefined, '/agents', { base: '/agents', path: '/' }],
  ['escaped characters', '/v1/a%20%C3%A4', 'v1/a ä', '/live/v1/a%20%C3%A4', { base: '/live', path: '/v1/a%20%C3%A4' }],
  ['a slash at the end', '/v1/a/', 'v1/a', '/live/v1/a/', { base: '/live', path: '/v1/a/' }],
])('the base and the path of an address are separated: %s', (_, path, proxy, requested, expected) => {
  const requestContext = { path: requested } as APIGatewayProxyEvent['requestContext']
  const resource = proxy === undefined ? '/' : '/{proxy+}'
  const pathParameters = proxy === undefined ? null : { proxy }
  expect(placeOf({ resource, path, pathParameters, requestContext })).toEqual(expected)
})

test.each([
  ['/v1/{proxy+}', '/v1/a/v1', { proxy: 'a/v1' }, '/live/v1/a/v1', { base: '/live', path: '/v1/a/v1' }],
  ['/v1', '/v1', null, '/live/v1', { base: '/live', path: '/v1' }],
  ['/v1/{proxy+}', '/agents/v1/$&', { proxy: '$&' }, '/agents/v1/$&', { base: '/agents', path: '/v1/$&' }],
])(
  'the base and the path of the resource %s are separated: %s',
  (resource, path, pathParameters, requested, expected) => {
    const requestContext = { path: requested } as APIGatewayProxyEvent['requestContext']
    expect(placeOf({ resource, path, pathParameters, requestContext })).toEqual(expected)
  },
)

test('a path cannot name another host', async () => {
  const urls: URL[] = []
  await call(eventOf('//evil.example/v1'), async (request) => {
    urls.push(new URL(request.url))
    return new Response()
  })
  expect(urls.map(({ host }) => host)).toEqual(['api.example.com'])
})

test('an empty body still has its status and headers', async () => {
  const nothing = async (): Promise<Response> =>
    new Response(new ReadableStream({ start: (controller) => controller.close() }), { status: 206 })
  const { prelude, body } = await call(eventOf('/output'), nothing)
  expect([prelude.statusCode, body.length]).toEqual([206, 0])
})

test('a request that cannot be read is refused with a problem document', async () => {
  const { prelude, body } = await call(eventOf('/v1/x', { httpMethod: 'TRACE' }), async () => new Response())
  expect([prelude.statusCode, JSON.parse(body.toString())]).toMatchObject([
    400,
    { type: 'urn:tooltrail:problem:malformed_request' },
  ])
})

test('cookies are sent one by one, and non-ASCII headers are read like those of a local server', async () => {
  const headers = new Headers([
    ['set-cookie', 'a=1'],
    ['set-cookie', 'b=2'],
  ])
  const seen: unknown[] = []
  const { prelude } = await call(eventOf('/', { multiValueHeaders: { 'X-Name': ['é'] } }), async (request) => {
    seen.push(request.headers.get('x-name'))
    return new Response(null, { headers })
  })
  expect([prelude.cookies, prelude.headers, seen]).toEqual([['a=1', 'b=2'], {}, ['Ã©']])
})

test('status and headers are sent before the first chunk, and chunks are sent as they arrive', async () => {
  const headFirst = Promise.withResolvers<void>()
  const firstPiece = Promise.withResolvers<void>()
  const encoder = new TextEncoder()
  async function* speak() {
    await headFirst.promise
    yield encoder.encode('first')
    await firstPiece.promise
    yield encoder.encode('second')
  }
  const handler = createStreamingHandler(
    async () => new Response(ReadableStream.from(speak())),
    (_context, work) => work(),
  )
  const stream = new PassThrough()
  const pieces: string[] = []
  stream.on('data', (chunk: Buffer) => {
    const piece = chunk.toString()
    if (piece.startsWith('{')) headFirst.resolve()
    else if (/^[a-z]/.test(piece)) pieces.push(piece)
    if (piece === 'first') firstPiece.resolve()
  })
  await handler(eventOf('/events'), stream, {} as Context)
  expect(pieces).toEqual(['first', 'second'])
})

test('a body that breaks off fails the invocation, and no replacement text is sent', async () => {
  async function* breaks() {
    yield new TextEncoder().encode('half')
    throw new Error('the store is gone')
  }
  const handler = createStreamingHandler(
    async () => new Response(ReadableStream.from(breaks())),
    (_context, work) => work(),
  )
  const stream = new PassThrough()
  await expect(handler(eventOf('/output'), stream, {} as Context)).rejects.toThrow('the store is gone')
  expect([stream.writableEnded, stream.destroyed]).toEqual([false, false])
  expect(String(stream.read())).toMatch(/half$/)
})

test('the body is read only as fast as a slow client reads', async () => {
  const stream = new PassThrough({ highWaterMark: 1 })
  let given = 0
  async function* pieces() {
    for (; given < 10; given++) yield new Uint8Array(1_000)
  }
  const handler = createStreamingHandler(
    async () => new Response(ReadableStream.from(pieces())),
    (_context, work) => work(),
  )
  const done = handler(eventOf('/output'), stream, {} as Context)
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(given).toBeLessThan(5)
  stream.resume()
  await done
  expect(given).toBe(10)
})

/**
 * A response without end, which records when its source was cancelled. `next` is called before each chunk except
 * the first.
 */
function endless(next = (): void => undefined) {
  const body = { ended: false }
  async function* pieces() {
    try {
      for (; ; next()) yield new Uint8Array(1_000)
    } finally {
      body.ended = true
    }
  }
  const respond = async () => new Response(ReadableStream.from(pieces()))
  return { handler: createStreamingHandler(respond, (_context, work) => work()), body }
}

test('a client that reads nothing for five minutes is dropped, and the body’s source is aborted', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { handler, body } = endless()
  const settled = vi.fn<(reason: unknown) => void>()
  const done = handler(eventOf('/output'), new PassThrough({ highWaterMark: 1 }), {} as Context).catch(settled)
  await vi.advanceTimersByTimeAsync(299_000)
  expect(settled).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(2_000)
  expect(settled).toHaveBeenCalled()
  await done
  expect(String(settled.mock.calls[0]?.[0])).toContain('less than 64 KB of the response in 5 minutes')
  expect(body.ended).toBe(true)
})

test.each(['before a piece', 'while a piece waits'])(
  'a response that the client closes %s ends at once, and the body’s source is aborted',
  async (when) => {
    const stream = new PassThrough({ highWaterMark: 1 })
    const { handler, body } = endless(() => stream.destroy())
    if (when === 'before a piece') stream.resume()
    else setTimeout(() => stream.destroy(), 20)
    await expect(handler(eventOf('/output'), stream, {} as Context)).rejects.toThrow('closed before its end')
    await vi.waitFor(() => expect(body.ended).toBe(true))
  },
  5_000,
)

test('a client that reads 4 KB a second receives its response, whatever the size of the body’s chunks', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const SIZE = 512 * 1024
  const stream = new PassThrough({ highWaterMark: 1 })
  const settled = vi.fn<(reason: unknown) => void>()
  const handler = createStreamingHandler(
    async () => new Response(ReadableStream.from([new Uint8Array(SIZE)])),
    (_context, work) => work(),
  )
  const done = handler(eventOf('/output'), stream, {} as Context).catch(settled)
  stream.pause()
  let [taken, seconds] = [0, 0]
  for (; taken < SIZE && seconds < 600; seconds++) {
    await vi.advanceTimersByTimeAsync(1_000)
    const piece: unknown = stream.read(Math.min(4_096, stream.readableLength))
    if (piece instanceof Uint8Array) taken += piece.length
  }
  expect(settled).not.toHaveBeenCalled()
  expect(taken).toBeGreaterThanOrEqual(SIZE)
  stream.resume()
  await done
})

test('outside Lambda the module loads, and its handler fails with a clear error', async () => {
  Reflect.deleteProperty(globalThis, 'awslambda')
  const handler = createStreamingHandler(
    async () => new Response(),
    (_context, respond) => respond(),
  )
  await expect(handler(eventOf('/'), new PassThrough(), {} as Context)).rejects.toThrow('awslambda')
})
