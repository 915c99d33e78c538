import { createServer } from 'node:http'
import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { GET } from '../../examples/next-chat/app/api/tooltrail/[...path]/route.ts'

type Handler = typeof GET

let server: Server
let route: Handler
/** Requests that arrived at Tooltrail. */
let arrived: Pick<IncomingMessage, 'method' | 'url' | 'headers'>[]
const closed = Promise.withResolvers<void>()

beforeAll(async () => {
  server = createServer((request, response) => {
    arrived.push(request)
    if (request.url === '/v1/chat/open/stream') {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'set-cookie': 'a=b' })
      response.write('data: 1\n\n')
      response.on('close', () => closed.resolve())
    } else response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  process.env['TOOLTRAIL_URL'] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  process.env['TOOLTRAIL_KEY'] = 'tt_secret'
  route = (await import('../../examples/next-chat/app/api/tooltrail/[...path]/route.ts')).GET
})
afterAll(() => {
  delete process.env['TOOLTRAIL_URL']
  delete process.env['TOOLTRAIL_KEY']
  server.closeAllConnections()
  server.close()
})
beforeEach(() => (arrived = []))

const send = (method: string, path: string, init: RequestInit = {}): Promise<Response> =>
  route(new Request(`http://app/api/tooltrail/${path}`, { method, ...init }), {
    params: Promise.resolve({ path: (path.split('?')[0] ?? '').split('/').map(decodeURIComponent) }),
  })

test("the example's route adds the key, and forwards none of the page's headers", async () => {
  const response = await send('GET', 'v1/sessions?limit=50', { headers: { authorization: 'Bearer x', cookie: 'a=b' } })
  expect([response.status, arrived[0]?.url]).toEqual([200, '/v1/sessions?limit=50'])
  expect(arrived[0]?.headers).toMatchObject({ authorization: 'Bearer tt_secret' })
  expect(arrived[0]?.headers.cookie).toBeUndefined()
})

test.each([
  ['DELETE', 'v1/sessions/s'],
  ['GET', 'v1/usage'],
  ['GET', 'v1/sessions/s/export'],
  ['POST', 'v1/sessions/s/messages'],
  ['GET', 'v1/chat/a%2F..%2F..%2Fusage/x'],
])("the example's route refuses %s %s", async (method, path) => {
  expect([(await send(method, path)).status, arrived]).toEqual([404, []])
})

test("the example's route refuses requests of other sites", async () => {
  const response = await send('POST', 'v1/chat', { headers: { 'sec-fetch-site': 'cross-site' }, body: '{}' })
  expect([response.status, arrived]).toEqual([403, []])
})

test("the example's route streams, and closes its connection when the page closes the stream", async () => {
  const page = new AbortController()
  const response = await send('GET', 'v1/chat/open/stream', { signal: page.signal })
  const { value } = (await response.body?.getReader().read()) ?? {}
  expect(new TextDecoder().decode(value as Uint8Array | undefined)).toBe('data: 1\n\n')
  expect(response.headers.get('set-cookie')).toBeNull()
  page.abort()
  await closed.promise
})
