/*
 * Many MCP clients and models send null or "" for a parameter that they do not set, and numbers as texts. The tools of /mcp, and an
 * agent's own tools on each wire, treat null and "" as absent, and "5" as 5.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { lenientInput } from '../../functions/tools/lenient-input.ts'
import { readOutput } from '../../functions/tools/read-output.ts'
import { searchHistory } from '../../functions/tools/search-history.ts'
import { openWire, WIRES } from '../http/wire-harness.ts'
import type { WireHarness } from '../http/wire-harness.ts'

const UNSET = { session: null, role: null, tool: null, agent: null, since: null, until: null, limit: null, after: null }
const HEADERS = { accept: 'application/json, text/event-stream' }
const VERSION = 'mcp-protocol-version'

interface Reply {
  readonly result?: { readonly isError?: boolean; readonly content?: readonly { readonly text: string }[] }
}

const CALLS: readonly (readonly [variant: string, tool: string, args: unknown])[] = [
  ['query-alone', 'search_history', { query: 'x' }],
  ['null', 'search_history', { query: 'x', ...UNSET }],
  ['null-for-an-unknown-parameter', 'search_history', { query: 'x', cursor: null }],
  ['number-as-text', 'search_history', { query: 'x', limit: '5' }],
  ['empty-texts', 'search_history', { query: 'x', session: '', role: '', tool: '', since: '', folder: '', limit: '' }],
  ['list-number-as-text', 'list_sessions', { limit: ' 3 ' }],
  ['list-null', 'list_sessions', { q: null, sort: null, order: null, after: null }],
  ['list-empty-texts', 'list_sessions', { q: '', agent: '', source: '', branch: '', sort: '' }],
  ['list-arguments-null', 'list_sessions', null],
  ['list-without-arguments', 'list_sessions', undefined],
  ['session-null', 'read_session', { session: 's1', around: null, before: '', after: null, limit: '10' }],
]

describe('a tool of the MCP endpoint', () => {
  let opened: WireHarness
  beforeAll(async () => {
    const [chat] = WIRES
    if (chat === undefined) throw new Error('there is no wire')
    opened = await openWire(chat.provider)
    await opened.ask('go')
  })
  afterAll(() => opened.close())

  const call = async (name: string, args: unknown, id: unknown = 1): Promise<Reply> => {
    const message = { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } }
    const response = await opened.harness.send('POST', '/mcp', message, { ...HEADERS, [VERSION]: '2025-11-25' })
    const text = await response.text()
    return JSON.parse(/data: (.*)/u.exec(text)?.[1] ?? text) as Reply
  }

  test.each(CALLS)('field/21/%s: %s accepts the arguments', async (_variant, name, args) => {
    const reply = await call(name, args)
    expect(reply).toMatchObject({ result: { content: [{ type: 'text' }] } })
    expect(reply.result?.isError ?? false, JSON.stringify(reply)).toBe(false)
  })

  test.each<[string, string, unknown, RegExp]>([
    ['a number beyond the limit', 'search_history', { query: 'x', limit: '500' }, /limit/],
    ['a number for a text', 'search_history', { query: 7 }, /query/],
    ['null for a required parameter', 'search_history', { query: null }, /query/],
    ['another word', 'search_history', { query: 'x', limit: 'five' }, /limit/],
    ['an unknown parameter', 'list_sessions', { colour: 'red' }, /colour/],
  ])('%s is refused', async (_name, tool, args, expected) => {
    expect(JSON.stringify(await call(tool, args))).toMatch(expected)
  })
})

describe.each(WIRES)('$wire', ({ provider }) => {
  let opened: WireHarness
  beforeAll(async () => {
    opened = await openWire(provider, undefined, [searchHistory, readOutput])
  })
  afterAll(() => opened.close())

  test.each<[string, string, unknown]>([
    ['agent-null', 'search_history', { query: 'x', role: null, tool: null, since: null, until: null, limit: null }],
    ['agent-empty-texts', 'search_history', { query: 'x', role: '', tool: '', since: '', folder: '', group: '' }],
    ['agent-number-as-text', 'search_history', { query: 'x', limit: '5' }],
  ])("field/21/%s: an agent's %s accepts the arguments", async (_variant, name, input) => {
    opened.play({ parts: [{ type: 'tool_call', id: 'c', name, arguments: JSON.stringify(input) }] })
    const { session } = await opened.ask('go')
    expect(await opened.results(session)).toMatchObject([{ status: 'completed' }])
  })
})

test('a valid value is not changed', () => {
  const schema = z.strictObject({
    a: z.string().nullable(),
    b: z.string().optional(),
    c: z.union([z.string(), z.number()]),
  })
  expect(lenientInput(schema, { a: null, b: '', c: '5' })).toEqual({ a: null, b: '', c: '5' })
})

test('arguments other than objects are passed to the schema unchanged', () => {
  expect(lenientInput(z.strictObject({}), null)).toEqual({})
  expect(lenientInput(z.strictObject({}), [1])).toEqual([1])
  expect(lenientInput(z.string(), null)).toBeNull()
})
