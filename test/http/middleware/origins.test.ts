/* Evidence, access: A page of another site cannot start a request. A webhook works even if its session id is taken. */
/* Evidence, clients: Client packages work in pages of another origin only if a setting names that origin. */
import { afterEach, describe, expect, test } from 'vitest'
import { openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const status = async (url: string, headers: Record<string, string> = {}): Promise<number> =>
  (await harness.program.app.request(url, { headers })).status

describe('without a key', () => {
  test.each(['http://localhost:3000', 'http://127.0.0.1:3000', 'http://[::1]:3000', 'http://localhost'])(
    'the host %s is accepted',
    async (host) => {
      harness = await openHttpHarness()
      expect(await status(`${host}/v1/sessions`)).toBe(200)
    },
  )

  test.each([
    'http://evil.example',
    'http://127.0.0.1.evil.example',
    'http://localhost.evil.example:3000',
    'http://10.0.0.1',
  ])('the host %s is refused: it may be a name rebound to this machine', async (host) => {
    harness = await openHttpHarness()
    expect(await status(`${host}/v1/sessions`)).toBe(403)
    expect(await status(`${host}/openapi.json`)).toBe(403)
  })

  test.each([
    ['http://localhost:3000', 200],
    ['http://localhost:4000', 403],
    ['https://localhost:3000', 403],
    ['https://evil.example', 403],
    ['null', 403],
  ])('a page of %s gets %d', async (origin, expected) => {
    harness = await openHttpHarness()
    expect(await status('http://localhost:3000/v1/sessions', { origin })).toBe(expected)
  })

  const READ = { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' }
  const LINK = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
  const FRAME = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }
  for (const path of ['/v1/sessions', '/v1/search?q=hello', '/openai/v1/models', '/mcp', '/']) {
    test.each([
      ['cross-site', READ, 403],
      ['same-site', READ, 403],
      ['cross-site', FRAME, 403],
      ['anything new', READ, 403],
    ])(`a request for ${path} of a %s page with %o is refused`, async (site, sent, expected) => {
      harness = await openHttpHarness()
      expect(await status(`http://localhost:3000${path}`, { 'sec-fetch-site': site, ...sent })).toBe(expected)
    })
  }

  test.each([
    ['same-origin', READ],
    ['none', LINK],
    ['cross-site', LINK],
    ['same-site', LINK],
  ])('a GET of a %s page with %o is executed', async (site, sent) => {
    harness = await openHttpHarness()
    expect(await status('http://localhost:3000/v1/sessions', { 'sec-fetch-site': site, ...sent })).toBe(200)
  })

  test('a form of another site is refused, even though it navigates', async () => {
    harness = await openHttpHarness()
    const headers = { 'sec-fetch-site': 'cross-site', ...LINK }
    const request = { method: 'POST', headers, body: 'content=hi' }
    expect((await harness.program.app.request('http://localhost:3000/v1/sessions', request)).status).toBe(403)
  })

  test('a page of a configured origin may call the API', async () => {
    harness = await openHttpHarness({ settings: { corsOrigins: ['https://app.example'] } })
    const cors = { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }
    const headers = { 'sec-fetch-site': 'cross-site', ...cors, origin: 'https://app.example' }
    expect(await status('http://localhost:3000/v1/sessions', headers)).toBe(200)
  })

  test('the CORS setting * does not let pages of other origins call the API', async () => {
    harness = await openHttpHarness({ settings: { corsOrigins: ['*'] } })
    expect(await status('http://localhost:3000/v1/sessions', { origin: 'https://evil.example' })).toBe(403)
  })
})

describe('with a key', () => {
  test('any host is accepted', async () => {
    harness = await openHttpHarness()
    const headers = await harness.key()
    expect(await status('https://api.example/v1/sessions', headers)).toBe(200)
  })
})

describe('CORS', () => {
  test('is not enabled by default', async () => {
    harness = await openHttpHarness()
    const key = await harness.key()
    const headers = { ...key, origin: 'https://app.example' }
    const response = await harness.program.app.request('https://api.example/v1/sessions', { headers })
    expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  test('lets pages of the configured origins call the API, and read the headers that they need', async () => {
    harness = await openHttpHarness({ settings: { corsOrigins: ['https://app.example'] } })
    const key = await harness.key()
    const url = 'https://api.example/v1/sessions'
    const ask = (origin: string, method = 'GET', headers: Record<string, string> = key): Promise<Response> =>
      Promise.resolve(harness.program.app.request(url, { method, headers: { ...headers, origin } }))
    const asked = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' }
    const preflight = await ask('https://app.example', 'OPTIONS', asked)
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-origin')).toBe('https://app.example')
    expect(preflight.headers.get('access-control-allow-headers')).toBe('authorization')
    const response = await ask('https://app.example')
    expect(response.headers.get('access-control-allow-origin')).toBe('https://app.example')
    expect(response.headers.get('access-control-expose-headers')).toContain('Location')
    expect((await ask('https://evil.example')).headers.get('access-control-allow-origin')).toBeNull()
  })
})
