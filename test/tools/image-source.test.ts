/* Evidence, api: An image given by address is never fetched from an internal address. Its size and its time are limited. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { LookupFunction } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createImageSource } from '../../functions/tools/image-source.ts'
import { listen } from '../adapters/mcp/servers.ts'
import type { RunningServer } from '../adapters/mcp/servers.ts'
import { PNG } from '../fixtures/png.ts'

let server: RunningServer
let internal: RunningServer
/** Requests that the internal server received. */
let received = 0
const headers: IncomingMessage['headers'][] = []
let aborted: Promise<void>

beforeAll(async () => {
  internal = await listen((_request, response) => {
    received++
    response.end(Buffer.from(PNG, 'base64'))
  })
  server = await listen((request, response) => {
    headers.push(request.headers)
    aborted = new Promise((resolve) => response.on('close', resolve))
    const path = request.url?.slice(1) ?? ''
    PAGES[path]?.(response)
  })
})
afterAll(async () => {
  await server.close()
  await internal.close()
})

const redirect = (location: string) => (response: ServerResponse) => void response.writeHead(302, { location }).end()
const PAGES: { readonly [path: string]: (response: ServerResponse) => void } = {
  dot: (response) => void response.end(Buffer.from(PNG, 'base64')),
  moved: redirect('/dot'),
  inwards: (response) => redirect(internal.url)(response),
  secure: redirect('https://127.0.0.1:9/dot.png'),
  file: redirect('file:///etc/passwd'),
  circle: redirect('/circle'),
  nowhere: redirect('https://'),
  gone: (response) => void response.writeHead(404).end('secret text'),
  partial: (response) => void response.writeHead(206).end('x'),
  silent: (response) => void response.writeHead(200, { 'content-length': '9' }).write('x'),
  packed: (response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
  broken: (response) => void response.destroy(),
  endless(response) {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    }
    response.on('drain', more)
    more()
  },
}

const never = new AbortController().signal
const addressOf = (path: string): string => `http://${server.host}/${path}`
const openPath = (path: string, limitMs = 5_000) =>
  createImageSource({ allowedHosts: [server.host], limitMs }).open(addressOf(path), never)

test.each(['dot', 'moved'])('an image is read, also after a redirect: %s', async (path) => {
  const image = await openPath(path)
  expect(image.bytes).toBe(70)
  expect(Buffer.from(await image.read(100)).toString('base64')).toBe(PNG)
  expect(headers.at(-1)).not.toHaveProperty('authorization')
})

const REFUSED = 'cannot be fetched: it redirects to an address that is refused'
test.each([
  ['inwards', REFUSED],
  ['secure', 'cannot be fetched: its address is not a public one'],
  ['file', REFUSED],
  ['nowhere', REFUSED],
  ['circle', 'cannot be fetched: it redirects more than 5 times'],
  ['gone', 'cannot be fetched: its server responds with the status 404'],
  ['partial', 'cannot be fetched: its server responds with the status 206'],
  ['packed', 'cannot be fetched: its server sends no complete response'],
  ['broken', 'cannot be fetched: its server cannot be reached (ECONNRESET)'],
])('an image that cannot be fetched is rejected, and no internal host is contacted: %s', async (path, message) => {
  await expect(openPath(path)).rejects.toThrow(message)
  expect(received).toBe(0)
})

test('a slow image is aborted at the time limit', async () => {
  const image = await openPath('silent', 100)
  await expect(image.read(100)).rejects.toThrow('did not arrive within 0.1 s')
  await aborted
})

test('an image above the limit is aborted while it is read', async () => {
  const image = await openPath('endless')
  expect(image.bytes).toBeUndefined()
  await expect(image.read(2_500_000)).rejects.toThrow('has more than 2.5 MB')
  await aborted
})

test('a client that disconnects aborts the request', async () => {
  const client = new AbortController()
  const image = await createImageSource({ allowedHosts: [server.host] }).open(addressOf('silent'), client.signal)
  client.abort(new Error('gone'))
  await expect(image.read(100)).rejects.toThrow('gone')
  await aborted
})

test.each([
  ['http://example.com/a.png', 'must be https'],
  ['http://169.254.169.254/latest/meta-data', 'must be https'],
  ['https://169.254.169.254/latest/meta-data', 'its address is not a public one'],
  ['https://[::ffff:127.0.0.1]/', 'its address is not a public one'],
  ['https://user:password@example.com/', 'must not hold a user name or password'],
  ['ftp://example.com/', 'is not an http(s) address'],
  ['https://', 'is not a URL'],
])('an address that is refused is not contacted: %s', async (url, message) => {
  await expect(createImageSource({ allowedHosts: [server.host] }).open(url, never)).rejects.toThrow(message)
})

test('a public name that resolves to an internal address is refused', async () => {
  const lookup: LookupFunction = (_host, options, done) =>
    options.all === true ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)
  const source = createImageSource({ allowedHosts: [server.host], lookup })
  await expect(source.open(`https://images.example:${new URL(internal.url).port}/`, never)).rejects.toThrow(
    'its address is not a public one',
  )
  expect(received).toBe(0)
})
