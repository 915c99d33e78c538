/* Evidence, page: At an unknown address, browsers get the page with status 404, and other clients get a problem document. */
/* Evidence, page: The page stays complete when an upgrade replaces the program's files while the program runs. */
/* Evidence, page: The page takes at most 150 KB over the network, names no other host, and is built from its
 * sources. */
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openHttpHarness, type HttpHarness } from './harness.ts'

const BUILT = join(resolve(import.meta.dirname, '../..'), 'built/page')
const ASSETS = readdirSync(join(BUILT, 'assets'))
const script = ASSETS.find((name) => name.endsWith('.js')) ?? ''

let harness: HttpHarness
beforeAll(async () => {
  harness = await openHttpHarness()
})
afterAll(() => harness.close())

describe('the page', () => {
  test.each(['/', '/new', '/sessions/any.id', '/sessions/any.id/context', '/search?q=git', '/usage'])(
    'is at %s',
    async (path) => {
      const response = await harness.send('GET', path)
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
      const text = await response.text()
      expect(text).toContain('<base href="/"')
      expect(text).toContain(`assets/${script}`)
    },
  )

  test('may load and request only resources of its own server', async () => {
    const policy = (await harness.send('GET', '/')).headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'")
    expect(policy).toContain("connect-src 'self'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|https?:|data:|\*/)
  })

  test('finds its files when the program has a path prefix', async () => {
    const response = await harness.program.app.fetch(new Request('http://localhost:3000/usage'), { base: '/api' })
    expect(await response.text()).toContain('<base href="/api/"')
    expect(await (await harness.send('GET', '/usage')).text()).toContain('<base href="/"')
  })

  test('is revalidated by each request, and is not sent again if it has not changed', async () => {
    const first = await harness.send('GET', '/', undefined, { 'accept-encoding': 'gzip' })
    expect([first.headers.get('cache-control'), first.headers.get('content-encoding')]).toEqual(['no-cache', 'gzip'])
    const again = await harness.send('GET', '/', undefined, { 'if-none-match': first.headers.get('etag') ?? '' })
    expect([again.status, await again.text()]).toEqual([304, ''])
  })

  test('is served without a key', async () => {
    const other = await openHttpHarness()
    try {
      await other.key()
      expect((await other.send('GET', '/')).status).toBe(200)
    } finally {
      await other.close()
    }
  })

  test('stays complete when an upgrade replaces its files while the program runs', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tooltrail-page-'))
    cpSync(BUILT, folder, { recursive: true })
    const other = await openHttpHarness({ settings: { pageFolder: folder } })
    try {
      const before = await (await other.send('GET', '/')).text()
      rmSync(join(folder, 'assets'), { recursive: true })
      writeFileSync(join(folder, 'index.html'), 'the next one')
      expect(await (await other.send('GET', '/usage')).text()).toBe(before)
      for (const name of ASSETS) expect((await other.send('GET', `/assets/${name}`)).status, name).toBe(200)
    } finally {
      await other.close()
      rmSync(folder, { recursive: true })
    }
  })

  test('is not served while some of its files are missing', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tooltrail-page-'))
    cpSync(BUILT, folder, { recursive: true })
    rmSync(join(folder, 'assets', script))
    const other = await openHttpHarness({ settings: { pageFolder: folder } })
    try {
      expect((await other.send('GET', '/')).status).toBe(500)
      cpSync(BUILT, folder, { recursive: true })
      expect((await other.send('GET', '/')).status).toBe(200)
    } finally {
      await other.close()
      rmSync(folder, { recursive: true })
    }
  })

  test('is read from the folder in the settings, as a bundled program needs', async () => {
    const other = await openHttpHarness({ settings: { pageFolder: '/nowhere' } })
    try {
      expect((await other.send('GET', '/')).status).toBe(500)
    } finally {
      await other.close()
    }
  })
})

describe('a file of the page', () => {
  test.each(ASSETS)('is cached permanently under a name with a hash of its contents: %s', async (name) => {
    const response = await harness.send('GET', `/assets/${name}`, undefined, { 'accept-encoding': 'br, gzip' })
    expect([response.status, response.headers.get('content-encoding')]).toEqual([200, 'gzip'])
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    const plain = await harness.send('GET', `/assets/${name}`)
    expect(plain.headers.get('content-encoding')).toBeNull()
    expect((await plain.arrayBuffer()).byteLength).toBeGreaterThan(100)
  })

  test.each([
    'nothing.js',
    '..%2Findex.html',
    '..%2F..%2F..%2Fpackage.json',
    '%00.js',
    'index.html',
    `${script}%2F`,
    'a%2Fb.js',
  ])('is not found under the name %s', async (name) => {
    const response = await harness.send('GET', `/assets/${name}`)
    expect([response.status, response.headers.get('content-type')]).toEqual([404, 'application/problem+json'])
  })
})

describe('an unknown address', () => {
  const HTML = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }
  const HOSTILE = '/nothing%3Cscript%3Ealert(1)%3C/script%3E'

  test.each(['/nothing', HOSTILE, '/assets/gone.js', '/v1/nothing', '/sessions/a/b/c'])(
    'shows a browser the page, with status 404: %s',
    async (path) => {
      const response = await harness.send('GET', path, undefined, HTML)
      expect([response.status, response.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(response.headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'")
      expect(await response.text()).toBe(await (await harness.send('GET', '/')).text())
    },
  )

  test.each([undefined, 'application/json', '*/*'])(
    'returns a problem to a program that accepts %s',
    async (accept) => {
      const response = await harness.send('GET', HOSTILE, undefined, accept === undefined ? {} : { accept })
      expect([response.status, response.headers.get('content-type')]).toEqual([404, 'application/problem+json'])
    },
  )
})
