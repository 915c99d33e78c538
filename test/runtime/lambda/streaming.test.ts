import { PassThrough } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { APIGatewayProxyEvent, Context } from 'aws-lambda'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createStreamingHandler, placeOf } from '../../../functions/runtime/lambda/streaming.ts'
import type { Answer } from '../../../functions/runtime/lambda/streaming.ts'

interface Prelude {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>
}
/** Of every answer, in their order. */
let preludes: Prelude[]

beforeEach(() => {
  preludes = []
  Object.assign(globalThis, {
    awslambda: {
      streamifyResponse: (handler: unknown) => handler,
      HttpResponseStream: {
        from: (stream: PassThrough, prelude: Prelude) => {
          preludes.push(prelude)
          return stream
        },
      },
    },
  })
})
afterEach(() => void Reflect.deleteProperty(globalThis, 'awslambda'))

const eventOf = (path: string, fields: Partial<APIGatewayProxyEvent> = {}): APIGatewayProxyEvent =>
  ({
    resource: '/{proxy+}',
    httpMethod: 'GET',
    path,
    pathParameters: { proxy: path.slice(1) },
    requestContext: { path: `/live${path}`, domainName: 'api.example.com' },
    headers: {},
    multiValueHeaders: {},
    queryStringParameters: null,
    multiValueQueryStringParameters: null,
    body: null,
    isBase64Encoded: false,
    ...fields,
  }) as APIGatewayProxyEvent

async function call(event: APIGatewayProxyEvent, answer: Answer): Promise<{ prelude: Prelude; body: Buffer }> {
  const handler = createStreamingHandler(answer, (_context, respond) => respond())
  const stream = new PassThrough()
  const body = buffer(stream)
  await handler(event, stream, {} as Context)
  const [prelude] = preludes
  if (prelude === undefined) throw new Error(`no prelude, but ${(await body).toString()}`)
  return { prelude, body: await body }
}

test('status, headers and bytes go out as the app gave them', async () => {
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

test('an answer without a body has its prelude, too', async () => {
  const { prelude, body } = await call(eventOf('/v1/x'), async () => new Response(null, { status: 204 }))
  expect([prelude.statusCode, body.length]).toEqual([204, 0])
})

test('the app sees method, query, headers and the very bytes of the body', async () => {
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

test('a GET with a body is answered, without it', async () => {
  const { prelude } = await call(eventOf('/healthz', { body: 'whatever' }), async (request) => {
    return new Response(null, { status: request.body === null ? 200 : 400 })
  })
  expect(prelude.statusCode).toBe(200)
})

test('addresses that the app gives from its root get the stage in front', async () => {
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
])('base and path are told apart: %s', (_, path, proxy, requested, expected) => {
  const requestContext = { path: requested } as APIGatewayProxyEvent['requestContext']
  expect(placeOf({ path, pathParameters: proxy === undefined ? null : { proxy }, requestContext })).toEqual(expected)
})

test('a path cannot name another host', async () => {
  const urls: URL[] = []
  await call(eventOf('//evil.example/v1'), async (request) => {
    urls.push(new URL(request.url))
    return new Response()
  })
  expect(urls.map(({ host }) => host)).toEqual(['api.example.com'])
})

test('pieces go out as they come', async () => {
  const pieces: string[] = []
  let release = (): void => {}
  const held = new Promise<void>((resolve) => (release = resolve))
  const encoder = new TextEncoder()
  async function* speak() {
    yield encoder.encode('first')
    await held
    yield encoder.encode('second')
  }
  const handler = createStreamingHandler(
    async () => new Response(ReadableStream.from(speak())),
    (_context, respond) => respond(),
  )
  const stream = new PassThrough()
  stream.on('data', (chunk: Buffer) => {
    pieces.push(chunk.toString())
    release()
  })
  await handler(eventOf('/events'), stream, {} as Context)
  expect(pieces).toEqual(['first', 'second'])
})

test('elsewhere than on Lambda the module loads, and its handler says so', async () => {
  Reflect.deleteProperty(globalThis, 'awslambda')
  const handler = createStreamingHandler(
    async () => new Response(),
    (_context, respond) => respond(),
  )
  await expect(handler(eventOf('/'), new PassThrough(), {} as Context)).rejects.toThrow('awslambda')
})
