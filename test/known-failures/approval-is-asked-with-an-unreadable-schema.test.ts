/*
 * A tool of an MCP server needs an approval, and its schema cannot be compiled, or its format is checked more strictly here than by
 * its server (a date-time without a zone). What cannot be checked is left to the server (docs/guides/mcp.md), and a person is asked. Today
 * the call goes back to the model each time, a person is never asked, and the tool cannot be called at all.
 *
 * Suite: test/adapters/mcp/
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { reply, startRawServer } from '../adapters/mcp/servers.ts'
import type { RunningServer } from '../adapters/mcp/servers.ts'
import { startScriptedProgram } from '../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../e2e/scripted-program.ts'

const url = 'https://example.com'
const CASES: { readonly [tool: string]: { readonly property: object; readonly value: unknown } } = {
  readable: { property: { type: 'string', pattern: '^https:' }, value: url },
  pattern: { property: { type: 'string', pattern: '^https\\:\\/\\/' }, value: url },
  reference: { property: { $ref: '#/$defs/Missing' }, value: 1 },
  draft4: { property: { type: 'number', minimum: 0, exclusiveMinimum: true }, value: 1 },
  format: { property: { type: 'string', format: 'date-time' }, value: '2026-01-01T00:00:00' },
}

let server: RunningServer
let scripted: ScriptedProgram
beforeAll(async () => {
  server = await startRawServer((message, response) => {
    const tools = Object.entries(CASES).map(([name, { property }]) => ({
      name,
      inputSchema: { type: 'object', properties: { value: property } },
    }))
    reply(response, message, message.method === 'tools/list' ? { tools } : { content: [{ type: 'text', text: 'ok' }] })
  })
  const mcp = { srv: { url: server.url, needs_approval: Object.keys(CASES) } }
  scripted = await startScriptedProgram({
    agents: { agents: { default: { tools: [], mcp } } },
    env: { TOOLTRAIL_ALLOWED_HOSTS: server.host },
  })
})
afterAll(async () => {
  await scripted.close()
  await server.close()
})

async function expectPause(name: string): Promise<void> {
  const value = CASES[name]?.value
  scripted.play({ parts: [{ type: 'tool_call', id: 'c', name: `srv__${name}`, arguments: JSON.stringify({ value }) }] })
  const run = await scripted.ask(await scripted.newSession(), 'go')
  expect(run.status).toBe('paused')
}

test('an approval is asked for a readable schema', () => expectPause('readable'))

test.fails.each(['pattern', 'reference', 'draft4', 'format'])(
  'an approval is asked for a schema that cannot be read (%s)',
  expectPause,
)
