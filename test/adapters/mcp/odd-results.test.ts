/*
 * An MCP server executed a call and returns a malformed result. The model gets the readable parts of the result.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toolOutput } from '../../../functions/adapters/mcp/tool-result.ts'
import { openWire, WIRES } from '../../http/wire-harness.ts'
import type { WireHarness } from '../../http/wire-harness.ts'
import { reply, serverAt, startRawServer } from './servers.ts'
import type { RunningServer } from './servers.ts'

const part = { type: 'text', text: 'THE TEXT' }
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** Results by variant. `seen` is the content that the model must get in addition to the text. */
const RESULTS: {
  readonly [variant: string]: { readonly result: unknown; readonly seen?: string; readonly more?: object }
} = {
  plain: { result: { content: [part] } },
  'annotations-null': { result: { content: [{ ...part, annotations: null }] } },
  'meta-null': { result: { content: [{ ...part, _meta: null }], _meta: null } },
  'is-error-null': { result: { content: [part], isError: null } },
  'structured-null': { result: { content: [part], structuredContent: null } },
  'unknown-fields': { result: { content: [{ ...part, extra: { a: 1 } }], version: 3, meta: 'x' } },
  'unknown-content-type': { result: { content: [part, { type: 'hologram', frames: 3 }] }, seen: 'hologram' },
  'null-among-the-parts': { result: { content: [null, part] }, seen: 'part 1' },
  'text-null': { result: { content: [{ type: 'text', text: null }, part] }, seen: 'a text without text' },
  'image-without-data': {
    result: { content: [part, { type: 'image', mimeType: 'image/png' }] },
    seen: 'image without data',
  },
  'image-without-media-type': { result: { content: [part, { type: 'image', data: PNG }] } },
  'blob-without-media-type': {
    result: { content: [part, { type: 'resource', resource: { uri: 'file:///a', blob: 'AAAA' } }] },
  },
  'resource-without-address': { result: { content: [{ type: 'resource', resource: { text: 'THE TEXT' } }] } },
  'link-without-name': {
    result: { content: [part, { type: 'resource_link', uri: 'https://example.com/a' }] },
    seen: 'https://example.com/a',
  },
  'text-for-content': { result: { content: 'THE TEXT' } },
  'one-part-for-content': { result: { content: part } },
  'parts-for-the-result': { result: [part] },
  'text-for-the-result': { result: 'THE TEXT' },
  'structured-alone': { result: { structuredContent: { city: 'THE TEXT' } } },
  'fields-without-content': { result: { city: 'THE TEXT', content: null } },
  'structured-beside-text': { result: { content: [part], structuredContent: { order: 'A-17' } }, seen: 'A-17' },
  'without-the-promised-structure': { result: { content: [part] }, more: { outputSchema: { type: 'object' } } },
  'error-null-in-the-envelope': { result: { content: [part] }, more: {} },
  'id-as-text': { result: { content: [part] } },
  'no-content-type': { result: { content: [part] } },
  'an-event': { result: { content: [{ ...part, annotations: null }], isError: null } },
}
const NAMES = Object.keys(RESULTS)

let server: RunningServer
beforeAll(async () => {
  server = await startRawServer((message, response) => {
    if (message.method === 'tools/list')
      return reply(response, message, {
        tools: NAMES.map((name) => ({ name, inputSchema: { type: 'object' }, ...RESULTS[name]?.more })),
      })
    const name = message.params?.name ?? ''
    const id = name === 'id-as-text' ? String(message.id) : message.id
    const error = name === 'error-null-in-the-envelope' ? { error: null } : {}
    const text = JSON.stringify({ jsonrpc: '2.0', id, result: RESULTS[name]?.result, ...error })
    const isStream = name === 'an-event'
    const type = isStream ? 'text/event-stream' : 'application/json'
    response.writeHead(200, name === 'no-content-type' ? {} : { 'content-type': type })
    return response.end(isStream ? `id: 1\nevent: message\ndata: ${text}\n\n` : text)
  })
})
afterAll(() => server.close())

describe.each(WIRES)('$wire', ({ provider }) => {
  let opened: WireHarness
  beforeAll(async () => void (opened = await openWire(provider, [serverAt(server.url, { name: 'srv' })])))
  afterAll(() => opened.close())

  test.each(NAMES)('field/03/%s: the model gets the result of the call', async (name) => {
    opened.play({ parts: [{ type: 'tool_call', id: 'c', name: `srv__${name}`, arguments: '{}' }] })
    const { session } = await opened.ask('go')
    expect((await opened.results(session)).map(({ status }) => status)).toEqual(['completed'])
    expect(opened.sent()[1]).toContain('THE TEXT')
    expect(opened.sent()[1]).toContain(RESULTS[name]?.seen ?? '')
  })
})

const shown = (result: unknown): string => toolOutput(result).text

test('the last line of a result names the parts that could not be read', () => {
  const content = [{ type: 'video' }, part, 7, { type: 'x'.repeat(100) }, ...Array.from({ length: 20 }, () => null)]
  const [first, second, note, ...rest] = shown({ content }).split('\n')
  expect([first, second, rest]).toEqual(['THE TEXT', '7', []])
  expect(note).toMatch(
    /^\[Not readable in this result: part 1 \(of the type "video"\), part 4 \(of the type "x{40}"\), /,
  )
  expect(note).toMatch(/, and 12 more\]$/)
})

test.each<[string, unknown]>([
  ['true', true],
  ['a text', 'true'],
])('a failed call is an error, if isError is %s', (_name, isError) => {
  expect(() => toolOutput({ content: [part, { type: 'video' }], isError })).toThrow(/^THE TEXT\n\[Not readable/)
})

test.each<[string, readonly string[], unknown]>([
  ['as JSON', ['{"b": [1, 2], "a": "x"}'], { a: 'x', b: [1, 2] }],
  ['as JSON within a sentence', ['It is:\n```json\n{ "a": "x" }\n```'], { a: 'x' }],
  ['wrapped', ['THE TEXT'], { result: 'THE TEXT' }],
  ['wrapped as a number', ['7'], { result: 7 }],
  ['with an entry per text', ['{"a":1}', '{"a":2}'], { result: [{ a: 1 }, { a: 2 }] }],
  ['with a line per text', ['one', 'two'], { result: ['one', 'two'] }],
  ['empty', ['THE TEXT'], {}],
])('structured content that also appears in the text, %s, is not repeated', (_name, texts, structuredContent) => {
  const content = texts.map((text) => ({ type: 'text', text }))
  expect(shown({ content, structuredContent })).toBe(texts.join('\n'))
})

test.each<[string, string, unknown]>([
  ['another value', '2 orders', { orders: ['A-17'] }],
  ['a short value that occurs by chance', 'a report', { id: 'a' }],
  ['a number that occurs by chance', 'page 12', { page: 1 }],
])('structured content with %s follows the text', (_name, text, structuredContent) => {
  expect(shown({ content: [{ type: 'text', text }], structuredContent })).toBe(
    `${text}\n${JSON.stringify(structuredContent)}`,
  )
})

test('an image without a media type is recognised by its first bytes, and other bytes become a file', () => {
  const [image, file] =
    toolOutput({
      content: [
        { type: 'image', data: PNG },
        { type: 'image', data: 'AAAA' },
      ],
    }).media ?? []
  expect(image).toMatchObject({ type: 'image', mediaType: 'image/png' })
  expect(file).toMatchObject({ type: 'file', mediaType: 'application/octet-stream' })
})
