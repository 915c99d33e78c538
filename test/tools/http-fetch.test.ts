/* Evidence, access: `http_fetch` reaches public addresses only. */
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo, LookupFunction } from 'node:net'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createHttpFetchTool } from '../../functions/tools/http-fetch.ts'
import type { HttpFetchSettings } from '../../functions/tools/http-fetch.ts'
import { toolContext } from './tool-context.ts'

const MEGABYTE = 1_048_576
const open = new Set<ServerResponse>()
let requests: string[] = []
const server = createServer((request, response) => {
  requests.push(`${request.method} ${request.url}`)
  open.add(response)
  respond(request, response)
})
let origin = ''

beforeAll(async () => {
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  for (const response of open) response.destroy()
  server.close()
})

const PAGES: {
  readonly [path: string]: readonly [type: string | undefined, body: string | Uint8Array, encoding?: string]
} = {
  '/text': ['text/plain; charset=utf-8', 'hello'],
  '/json': ['application/problem+json', '{"a":1}'],
  '/latin': ['text/html; charset="ISO-8859-1"', Uint8Array.from([0x63, 0x61, 0x66, 0xe9])],
  '/odd-charset': ['text/plain; charset=no-such', 'ünï'],
  '/image': ['image/png', Uint8Array.from([0x89, 0x50, 0x4e, 0x47])],
  '/typeless': [undefined, 'just words'],
  '/typeless-binary': [undefined, Uint8Array.from([0xff, 0x00, 0x01])],
  '/gzip': ['text/plain', gzipSync('zipped'), 'gzip'],
  '/deflate': ['text/plain', deflateSync('deflated'), 'deflate'],
  '/brotli': ['text/plain', brotliCompressSync('brotli'), 'br'],
  '/twice': ['text/plain', gzipSync(brotliCompressSync('twice')), 'br, gzip'],
  '/broken-gzip': ['text/plain', 'this is no gzip', 'gzip'],
  '/bomb': ['text/plain', gzipSync(Buffer.alloc(200 * MEGABYTE, 'a')), 'gzip'],
  '/nested-bomb': ['text/plain', 'x', 'gzip, gzip, gzip'],
  '/strange-encoding': ['text/plain', 'x', 'compress'],
}

function respond(request: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(request.url ?? '/', origin)
  const page = PAGES[pathname]
  if (page !== undefined) {
    const [type, body, encoding] = page
    response.writeHead(200, {
      ...(type && { 'content-type': type }),
      ...(encoding && { 'content-encoding': encoding }),
    })
    response.end(body)
  } else if (pathname === '/to') {
    response.writeHead(302, { location: searchParams.get('url') ?? '' }).end()
  } else if (pathname === '/circle') {
    response.writeHead(307, { location: '/circle' }).end()
  } else if (pathname === '/endless') {
    response.writeHead(200, { 'content-type': 'text/plain' })
    const write = (): void => {
      while (!response.destroyed && response.write('a'.repeat(65_536)));
    }
    response.on('drain', write)
    write()
  } else if (pathname === '/slow') {
    response.writeHead(200, { 'content-type': 'text/plain' })
    response.write('begins')
  } else if (pathname !== '/silent') {
    response.writeHead(404, { 'content-type': 'text/plain' }).end('nothing here')
  }
}

const local = (settings: HttpFetchSettings = {}) => createHttpFetchTool({ allowLoopback: true, ...settings })
const fetchText = async (url: string, settings?: HttpFetchSettings): Promise<string> =>
  (await local(settings).execute({ url }, toolContext())).text
const refused = async (url: string, settings: HttpFetchSettings = {}): Promise<string> => {
  const outcome: unknown = await createHttpFetchTool(settings)
    .execute({ url }, toolContext())
    .then(
      ({ text }) => new Error(`got: ${text}`),
      (error: unknown) => error,
    )
  return outcome instanceof Error ? outcome.message : String(outcome)
}
/** Returns a resolver that resolves each name to these addresses. */
const names =
  (addresses: { readonly [name: string]: readonly string[] }): LookupFunction =>
  (hostname, options, done) => {
    const found = (addresses[hostname] ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    if (options.all === true) done(null, found)
    else done(null, found[0]?.address ?? '', found[0]?.family ?? 4)
  }

describe('an address outside the public internet is rejected before a request', () => {
  test.each([
    'http://127.0.0.1',
    'http://127.9.9.9',
    'http://localhost',
    'http://0.0.0.0',
    'http://[::1]',
    'http://[::]',
    'http://[::ffff:127.0.0.1]',
    'http://[::ffff:7f00:1]',
    'http://[64:ff9b::7f00:1]',
    'http://[64:ff9b:1::7f00:1]',
    'http://[2002:7f00:1::]',
    'http://[fe80::1]',
    'http://[fec0::1]',
    'http://[3fff::1]',
    'http://[fd00:ec2::254]',
    'http://169.254.169.254',
    'http://10.0.0.1',
    'http://172.16.0.1',
    'http://192.168.1.1',
    'http://100.64.0.1',
    'http://198.18.0.1',
    'http://224.0.0.1',
    'http://255.255.255.255',
    'http://2130706433',
    'http://0x7f000001',
    'http://0177.0.0.1',
    'http://127.1',
    'http://168.63.129.16',
    'http://[::ffff:168.63.129.16]',
    'http://[::7f00:1]',
    'http://[::10.0.0.1]',
    'http://[::93.184.215.14]',
    'http://①②⑦.0.0.1',
  ])('%s', async (base) => {
    requests = []
    const { port } = server.address() as AddressInfo
    expect(await refused(`${base}:${port}/text`)).toMatch(/its address is not a public one/)
    expect(requests).toEqual([])
  })

  test('also if a name resolves to the address; the error does not contain the address', async () => {
    const message = await refused('http://intranet.example/', { lookup: names({ 'intranet.example': ['10.1.2.3'] }) })
    expect(message).toBe('intranet.example cannot be reached: its address is not a public one')
  })

  test.each(['168.63.129.16', '::7f00:1', '::a00:1'])('also if a name resolves to %s', async (address) => {
    const lookup = names({ 'azure.example': [address] })
    expect(await refused('http://azure.example/', { lookup })).toMatch(/not a public one/)
  })

  test('also if only one address of a name is internal', async () => {
    const lookup = names({ 'mixed.example': ['93.184.215.14', 'fd00::1'] })
    expect(await refused('http://mixed.example/', { lookup })).toMatch(/not a public one/)
  })

  test.each(['http://10.0.0.1/', 'http://169.254.169.254/latest/meta-data/', 'http://intranet.example/'])(
    'also if a redirect leads to %s',
    async (target) => {
      const lookup = names({ 'public.example': ['127.0.0.1'], 'intranet.example': ['192.168.0.9'] })
      const { port } = server.address() as AddressInfo
      const url = `http://public.example:${port}/to?url=${encodeURIComponent(target)}`
      expect(await refused(url, { allowLoopback: true, lookup })).toMatch(/not a public one/)
    },
  )

  test('also if a name changes its address between two hops', async () => {
    let asked = 0
    const lookup: LookupFunction = (hostname, options, done) =>
      names({ [hostname]: [(asked += 1) === 1 ? '127.0.0.1' : '10.0.0.1'] })(hostname, options, done)
    const { port } = server.address() as AddressInfo
    const message = await refused(`http://rebind.example:${port}/to?url=/text`, { allowLoopback: true, lookup })
    expect(message).toMatch(/not a public one/)
    expect(asked).toBe(2)
  })
})

describe('rejected web addresses', () => {
  test.each([
    'file:///etc/passwd',
    'ftp://example.com/',
    'data:text/plain,x',
    'not a url',
    '',
    'http://',
    '//host/path',
  ])('%j', async (url) => expect(await refused(url)).toMatch(/do not fit the schema of http_fetch:\n- url:/))
  test('a user name and password in the URL', async () => {
    expect(await refused('http://user:secret@example.com/')).toBe('a URL with a user name or password is refused')
  })
  test('a redirect to another scheme', async () => {
    expect(await refused(`${origin}/to?url=file:///etc/passwd`, { allowLoopback: true })).toMatch(
      /not an http\(s\) URL/,
    )
  })
  test('a redirect to a URL with credentials', async () => {
    const target = encodeURIComponent('http://user:secret@example.com/')
    expect(await refused(`${origin}/to?url=${target}`, { allowLoopback: true })).toMatch(/user name or password/)
  })
})

describe('a response', () => {
  test('contains the status, the type and the text', async () => {
    expect(await fetchText(`${origin}/text`)).toBe('HTTP 200 OK\ncontent-type: text/plain; charset=utf-8\n\nhello')
  })
  test('with an error status is a result, not an error', async () => {
    expect(await fetchText(`${origin}/missing`)).toBe('HTTP 404 Not Found\ncontent-type: text/plain\n\nnothing here')
  })
  test.each(['/text', '/gzip', '/brotli', '/twice'])('to HEAD of %s has no body', async (path) => {
    const { text } = await local().execute({ url: origin + path, method: 'HEAD' }, toolContext())
    expect(text).toMatch(/^HTTP 200 OK\ncontent-type: text\/plain(?:; charset=utf-8)?$/)
  })
  test('names the final URL after redirects', async () => {
    expect(await fetchText(`${origin}/to?url=/json`)).toBe(
      `HTTP 200 OK\nurl: ${origin}/json\ncontent-type: application/problem+json\n\n{"a":1}`,
    )
  })
  test('with endless redirects is an error after five redirects', async () => {
    requests = []
    expect(await refused(`${origin}/circle`, { allowLoopback: true })).toMatch(/redirects more than 5 times/)
    expect(requests).toHaveLength(6)
  })
  test.each([
    ['/latin', 'café'],
    ['/odd-charset', 'ünï'],
    ['/typeless', 'just words'],
    ['/gzip', 'zipped'],
    ['/deflate', 'deflated'],
    ['/brotli', 'brotli'],
    ['/twice', 'twice'],
  ])('%s is decoded', async (path, expected) => {
    expect((await fetchText(origin + path)).split('\n\n')[1]).toBe(expected)
  })
  test.each([
    ['/image', '[4 bytes, not text]'],
    ['/typeless-binary', '[3 bytes, not text]'],
  ])('%s is described, not returned as text', async (path, expected) => {
    expect(await fetchText(origin + path)).toMatch(new RegExp(`\\n\\n${RegExp.escape(expected)}$`))
  })
  test.each(['/broken-gzip', '/strange-encoding', '/nested-bomb'])('%s is an error', async (path) => {
    await expect(fetchText(origin + path)).rejects.toThrow(/header check|content-encoding/)
  })
})

describe('limits', () => {
  test.each(['/endless', '/bomb'])('%s is truncated after a megabyte of text', async (path) => {
    const before = process.memoryUsage().rss
    const text = await fetchText(origin + path)
    expect(text).toMatch(/\n\n\[cut: the body has more than 1048576 bytes\]$/)
    expect(text.match(/a{1000,}/)?.[0]).toHaveLength(MEGABYTE)
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * MEGABYTE)
  })
  test('a body as large as the limit is returned completely', async () => {
    expect(await fetchText(`${origin}/text`, { limitBytes: 5 })).toMatch(/\n\nhello$/)
    expect(await fetchText(`${origin}/text`, { limitBytes: 4 })).toMatch(/\n\nhell\n\n\[cut/)
  })
  test.each(['/slow', '/silent'])('%s ends at the time limit with an error that names the limit', async (path) => {
    await expect(fetchText(origin + path, { limitMs: 100 })).rejects.toThrow(
      'did not send its whole response within 0.1 s',
    )
  })
  test.each(['/slow', '/silent'])('%s stops when the call is cancelled, and rejects with the reason', async (path) => {
    const stop = new AbortController()
    const call = local().execute({ url: origin + path }, toolContext({ signal: stop.signal }))
    setTimeout(() => stop.abort(new Error('cancelled by a person')), 50)
    await expect(call).rejects.toThrow('cancelled by a person')
  })
  test('an unreachable server is reported by name', async () => {
    await expect(fetchText('http://127.0.0.1:1/')).rejects.toThrow(/^127.0.0.1:1 cannot be reached: .*ECONNREFUSED/)
  })
})
