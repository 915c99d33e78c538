/*
 * Many MCP clients and models send null (or "") for a parameter that they do not set, and numbers as texts. The tools of /mcp and an
 * agent's `search_history` take null as absent, and "5" as 5. Today such calls are refused.
 *
 * Suite: test/http/ (mcp.test.ts)
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startScriptedProgram } from '../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../e2e/scripted-program.ts'

const UNSET = { session: null, role: null, tool: null, agent: null, since: null, until: null, limit: null, after: null }
const HEADERS = { accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' }

let scripted: ScriptedProgram
beforeAll(async () => void (scripted = await startScriptedProgram()))
afterAll(() => scripted.close())

interface Reply {
  readonly result?: { readonly isError?: boolean }
}

async function expectResult(_name: string, name: string, args: object | null): Promise<void> {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }
  const { text } = await scripted.client.send('POST', '/mcp', call, HEADERS)
  const reply = JSON.parse(/data: (.*)/u.exec(text)?.[1] ?? text) as Reply
  expect(reply).toMatchObject({ result: { content: expect.any(Array) } })
  expect(reply.result?.isError ?? false, text).toBe(false)
}

test('search_history takes a query alone', () => expectResult('', 'search_history', { query: 'x' }))

test.fails.each([
  ['null', 'search_history', { query: 'x', ...UNSET }],
  ['a text for a number', 'search_history', { query: 'x', limit: '5' }],
  ['empty texts', 'search_history', { query: 'x', session: '', role: '', tool: '', since: '' }],
  ['a text for a number', 'list_sessions', { limit: '3' }],
  ['null for all arguments', 'list_sessions', null],
])('a tool of /mcp takes %s: %s', expectResult)

test.fails("an agent's search_history takes null", async () => {
  const text = JSON.stringify({ query: 'x', role: null, tool: null, since: null, until: null, limit: null })
  scripted.play({ parts: [{ type: 'tool_call', id: 'c', name: 'search_history', arguments: text }] })
  const session = await scripted.newSession()
  await scripted.ask(session, 'go')
  expect((await scripted.results(session)).map(({ status }) => status)).toEqual(['completed'])
})
