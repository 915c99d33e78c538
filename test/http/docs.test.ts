/* Evidence, page: The docs page contacts no other server, and works under its policy. */
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exampleOf, type ApiDocument } from '../../functions/http/docs/document.ts'
import { docsPage } from '../../functions/http/docs/page.ts'
import { openHttpHarness, type HttpHarness } from './harness.ts'

let harness: HttpHarness
let response: Response
let page: string
beforeAll(async () => {
  harness = await openHttpHarness()
  response = await harness.send('GET', '/docs')
  page = await response.text()
})
afterAll(() => harness.close())

const all = (pattern: RegExp, text = page): string[] => [...text.matchAll(pattern)].map(([, found]) => found ?? '')
const sha256 = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

describe('the docs', () => {
  test('are reached from /docs/ by a redirect to /docs', async () => {
    const found = await harness.send('GET', '/docs/')
    expect([found.status, found.headers.get('location')]).toEqual([302, '/docs'])
  })

  test('contain every operation with its parameters, and every schema', () => {
    const { paths, components } = harness.document
    for (const [path, methods] of Object.entries(paths))
      for (const [method, { operationId, parameters = [] }] of Object.entries(methods)) {
        const article = page.split(`<article id="${operationId}">`)[1]?.split('</article>')[0] ?? ''
        expect(article).toContain(`data-method="${method}" data-path="${path}"`)
        for (const { name } of parameters) expect(article).toContain(`name="${name}"`)
      }
    for (const [name, { properties = {} }] of Object.entries(components.schemas)) {
      const article = page.split(`<article id="${name}">`)[1]?.split('</article>')[0] ?? ''
      for (const field of Object.keys(properties)) expect(article).toContain(`<code class="name">${field}</code>`)
    }
  })

  test('contain every request that docs/operations names', () => {
    const folder = new URL('../../docs/operations/', import.meta.url)
    const text = readdirSync(folder)
      .filter((name) => name.endsWith('.md'))
      .map((name) => readFileSync(new URL(name, folder), 'utf8'))
      .join('\n')
    const named = [...text.matchAll(/\b(GET|POST|DELETE) (\/v1[^\s`?]*)(?:\?(\w+)=)?/g)]
    expect(named.length).toBeGreaterThan(5)
    const plain = (path: string): string => path.replaceAll(/<\w+>|\{\w+\}/g, '{}')
    const known = Object.entries(harness.document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { parameters = [] }]) => ({
        request: `${method.toUpperCase()} ${plain(path)}`,
        names: new Set<string | undefined>([undefined, ...parameters.map(({ name }) => name)]),
      })),
    )
    const isKnown = ([, method, path = '', name]: RegExpExecArray): boolean =>
      known.some(({ request, names }) => request === `${method} ${plain(path)}` && names.has(name))
    expect(named.filter((found) => !isKnown(found)).map(([found]) => found)).toEqual([])
  })

  test('link only to themselves and the OpenAPI document', () => {
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(all(/ src="([^"]*)"/g)).toEqual([])
    const ids = new Set(all(/ id="([^"]*)"/g))
    const missing = all(/ href="([^"]*)"/g).filter((link) => !(link.startsWith('#') && ids.has(link.slice(1))))
    expect(missing.toSorted()).toEqual(['data:,', 'openapi.json'])
  })

  test('may run only their own script and style', () => {
    const policy = response.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("connect-src 'self'")
    expect(policy).not.toMatch(/https?:|unsafe|nonce|\*/)
    for (const [kind, text] of [
      ['script', all(/<script>(.*?)<\/script>/gs)],
      ['style', all(/<style>(.*?)<\/style>/gs)],
    ] as const) {
      expect(text.length).toBe(1)
      expect(policy).toContain(`${kind}-src ${sha256(text[0] ?? '')};`)
    }
    expect(page).not.toMatch(/ on\w+="|style="/)
  })

  test('take at most 36 KB over the network, and nothing if they have not changed', async () => {
    const zipped = await harness.send('GET', '/docs', undefined, { 'accept-encoding': 'br, gzip' })
    expect(zipped.headers.get('content-encoding')).toBe('gzip')
    expect((await zipped.arrayBuffer()).byteLength).toBeLessThanOrEqual(36_000)
    const etag = zipped.headers.get('etag') ?? ''
    const again = await harness.send('GET', '/docs', undefined, { 'if-none-match': etag })
    expect([again.status, await again.text()]).toEqual([304, ''])
  })

  test('ask the reader for a key if a key exists', async () => {
    expect(page).not.toContain('$KEY')
    await harness.key()
    const keyed = await (await harness.send('GET', '/docs')).text()
    expect(keyed).toContain('-H &quot;authorization: Bearer $KEY&quot;')
    expect(keyed).toMatch(/<input\s+id="key"\s+type="password"/)
  })
})

const hostile = `<img src=x onerror="alert(1)">'"&`

test('hostile texts of an OpenAPI document are shown as text, not as HTML', async () => {
  const schema = { type: 'string', description: hostile, enum: [hostile], pattern: hostile, example: hostile }
  const content = { 'application/json': { schema } }
  const document: ApiDocument = {
    info: { title: hostile, version: hostile, description: `\`${hostile}\`` },
    tags: [{ name: hostile }],
    paths: {
      [`/${hostile}`]: {
        post: {
          operationId: hostile,
          summary: hostile,
          description: hostile,
          tags: [hostile],
          parameters: [{ name: hostile, in: 'query', required: true, schema }],
          requestBody: { content },
          responses: { 200: { description: hostile, content } },
        },
      },
    },
    components: { schemas: { [hostile]: { type: 'object', properties: { [hostile]: schema } } } },
  }
  const made = await docsPage(document, { style: '', script: '' })
  expect(made).toContain('&lt;img')
  expect(made).not.toContain('<img')
  expect(all(/ onerror="([^"]*)"/g, made)).toEqual([])
})

describe('an example', () => {
  const document: ApiDocument = {
    info: { title: '', version: '' },
    paths: {},
    components: {
      schemas: {
        Report: { type: 'object', example: { id: 'example' } },
        Made: {
          type: 'object',
          required: ['name', 'all', 'size'],
          properties: {
            name: { type: 'string' },
            all: { type: 'array', items: { $ref: '#/components/schemas/Report' } },
            size: { enum: ['s', 'm'] },
            optional: { type: 'string' },
          },
        },
      },
    },
  }

  test('is the one in the schema', () =>
    expect(exampleOf(document, { $ref: '#/components/schemas/Report' })).toEqual({ id: 'example' }))

  test('contains the required fields if the schema has no example', () =>
    expect(exampleOf(document, { $ref: '#/components/schemas/Made' })).toEqual({
      name: 'text',
      all: [{ id: 'example' }],
      size: 's',
    }))
})
