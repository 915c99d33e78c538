/*
 * An MCP server lists a malformed tool. The agent gets the other tools, and a warning names the malformed tool.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { declaredTools } from '../../../functions/adapters/mcp/listed-tools.ts'
import type { Json } from '../../../functions/domain/json.ts'
import { openWire, WIRES } from '../../http/wire-harness.ts'
import { reply, serverAt, startRawServer } from './servers.ts'
import type { RunningServer } from './servers.ts'

const inputSchema = { type: 'object' }
const good = { name: 'good', description: 'Good.', inputSchema }

/** Lists by variant. `reason` is the text of the warning; if it is undefined, the agent also gets the odd tool. */
const LISTS: { readonly [variant: string]: { readonly list: object; readonly reason?: string } } = {
  plain: { list: { tools: [good, { name: 'odd', inputSchema }] } },
  'description-null': { list: { tools: [good, { name: 'odd', inputSchema, description: null }] } },
  'annotations-null': { list: { tools: [good, { name: 'odd', inputSchema, annotations: null, _meta: null }] } },
  'output-schema-null': { list: { tools: [good, { name: 'odd', inputSchema, outputSchema: null, title: null }] } },
  'required-null': { list: { tools: [good, { name: 'odd', inputSchema: { ...inputSchema, required: null } }] } },
  'properties-as-text': {
    list: { tools: [good, { name: 'odd', inputSchema: { ...inputSchema, properties: { a: 'string' } } }] },
  },
  'schema-null': { list: { tools: [good, { name: 'odd', inputSchema: null }] } },
  'schema-missing': { list: { tools: [good, { name: 'odd' }] } },
  'schema-without-type': { list: { tools: [good, { name: 'odd', inputSchema: { properties: {} } }] } },
  'schema-as-text': {
    list: { tools: [good, { name: 'odd', inputSchema: 'none' }] },
    reason: 'its schema is not an object: "odd"',
  },
  'schema-of-a-list': {
    list: { tools: [good, { name: 'odd', inputSchema: { type: 'array' } }] },
    reason: 'its schema does not describe an object: "odd"',
  },
  'name-missing': { list: { tools: [{ inputSchema }, good] }, reason: 'it has no name: tool 1 of the list' },
  'name-as-a-number': {
    list: { tools: [good, { name: 7, inputSchema }] },
    reason: 'it has no name: tool 2 of the list',
  },
  'not-an-object': { list: { tools: [good, null] }, reason: 'it is not an object: tool 2 of the list' },
  'too-large': {
    list: { tools: [good, { name: 'odd', inputSchema, description: 'd'.repeat(70_000) }] },
    reason: 'it has more than 65536 bytes: "odd"',
  },
  'same-name': {
    list: { tools: [good, { ...good, description: 'Other.' }] },
    reason: 'another tool of the list has the same name: "good"',
  },
  'cursor-null': { list: { tools: [good, { name: 'odd', inputSchema }], nextCursor: null, _meta: null } },
}
const NAMES = Object.keys(LISTS)
/** Variants whose odd tool reaches the model's provider. */
const ACCEPTED = NAMES.filter((name) => LISTS[name]?.reason === undefined)

let server: RunningServer
beforeAll(async () => {
  server = await startRawServer((message, response, request) =>
    reply(response, message, LISTS[request.url?.split('?')[1] ?? '']?.list ?? { tools: [] }),
  )
})
afterAll(() => server.close())

// A refused tool never reaches a provider, so one provider's wire format is enough for its test.
describe.each(WIRES)('$wire', ({ wire, provider }) => {
  test.each(wire === 'chat' ? NAMES : ACCEPTED)(
    'field/05/%s: the agent gets the other tools of the list',
    async (variant) => {
      const opened = await openWire(provider, [serverAt(`${server.url}?${variant}`, { name: 'srv' })])
      try {
        const { session, run } = await opened.ask('go')
        const reason = LISTS[variant]?.reason
        expect(opened.sent()[0]).toContain('srv__good')
        expect(opened.sent()[0]?.includes('srv__odd')).toBe(reason === undefined)
        const notices = (await opened.harness.ports.reader.run({ tenant: 'default', session }, run.id))?.notices ?? []
        const details = notices.flatMap((notice) => (notice.type === 'warning' ? [notice.detail] : []))
        const expected = `MCP server srv: 1 of its 2 tools is absent, because ${reason}`
        expect(details).toEqual(reason === undefined ? [] : [expected])
      } finally {
        await opened.close()
      }
    },
  )
})

test.each<[string, object]>([
  ['null for all optional fields', { instructions: null, _meta: null }],
  ['no version of the server', { serverInfo: { name: 'x' } }],
  ['no description of the server', { serverInfo: null }],
])('field/05/introduction-odd: a server is used even if its introduction has %s', async (_name, more) => {
  const odd = await startRawServer((message, response) => reply(response, message, { tools: [good] }), undefined, more)
  const [chat] = WIRES
  if (chat === undefined) throw new Error('there is no wire')
  const opened = await openWire(chat.provider, [serverAt(odd.url, { name: 'srv' })])
  try {
    await opened.ask('go')
    expect(opened.sent()[0]).toContain('srv__good')
  } finally {
    await opened.close()
    await odd.close()
  }
})

const declared = (tools: readonly Json[], only?: readonly string[]) => declaredTools({ tools, refused: [] }, only)

test('a page that is sent twice causes no error', () => {
  expect(declared([good, good])).toEqual({ tools: [expect.objectContaining({ name: 'good' })] })
})

test('a warning names at most ten tools for each reason', () => {
  const odd = Array.from({ length: 30 }, (_, index) => ({ name: `odd${index}`, inputSchema: 7 }))
  const { tools, left } = declared([good, ...odd, { name: 'x'.repeat(90), inputSchema: [] }])
  expect(tools).toHaveLength(1)
  expect(left).toMatch(
    /^31 of its 32 tools are absent, because its schema is not an object: "odd0", .*"odd9" and 21 more$/,
  )
})

test('an odd tool that the agent does not list causes no warning', () => {
  expect(declared([good, { name: 'odd', inputSchema: 7 }], ['good'])).toEqual({ tools: [expect.anything()] })
  expect(declared([good, { name: 'odd', inputSchema: 7 }], ['good', 'odd']).left).toContain('"odd"')
})

test('a list of 200,000 odd tools is checked in linear time, and the warning names ten', () => {
  const tools = Array.from({ length: 200_000 }, () => ({ inputSchema }))
  const begun = performance.now()
  const { left } = declaredTools({ tools, refused: [] }, undefined)
  expect(performance.now() - begun).toBeLessThan(2_000)
  expect(left).toMatch(/^200000 of its 200000 tools are absent, .*: tool 1 of the list, .* and 199990 more$/u)
})
