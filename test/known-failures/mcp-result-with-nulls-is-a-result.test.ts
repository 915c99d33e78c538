/*
 * An MCP server sends null for what it does not set in a result. The model gets the result of the call. Today the result is refused.
 *
 * Suite: test/adapters/mcp/
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { reply, startRawServer } from '../adapters/mcp/servers.ts'
import type { RunningServer } from '../adapters/mcp/servers.ts'
import { startScriptedProgram } from '../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../e2e/scripted-program.ts'

const part = { type: 'text', text: 'THE TEXT' }
const RESULTS: { readonly [tool: string]: object } = {
  plain: { content: [part] },
  annotations: { content: [{ ...part, annotations: null }] },
  meta: { content: [{ ...part, _meta: null }] },
  is_error: { content: [part], isError: null },
  structured: { content: [part], structuredContent: null },
}

let server: RunningServer
let scripted: ScriptedProgram
beforeAll(async () => {
  server = await startRawServer((message, response) => {
    const tools = Object.keys(RESULTS).map((name) => ({ name, inputSchema: { type: 'object' } }))
    reply(response, message, message.method === 'tools/list' ? { tools } : (RESULTS[message.params?.name ?? ''] ?? {}))
  })
  const agents = { agents: { default: { tools: [], mcp: { srv: { url: server.url } } } } }
  scripted = await startScriptedProgram({ agents, env: { TOOLTRAIL_ALLOWED_HOSTS: server.host } })
})
afterAll(async () => {
  await scripted.close()
  await server.close()
})

async function expectResult(name: string): Promise<void> {
  scripted.play({ parts: [{ type: 'tool_call', id: 'c', name: `srv__${name}`, arguments: '{}' }] })
  const session = await scripted.newSession()
  await scripted.ask(session, 'go')
  const [result] = await scripted.results(session)
  expect(result?.status).toBe('completed')
  expect(JSON.stringify(scripted.requests()[1]?.body.messages.at(-1))).toContain('THE TEXT')
}

test('the model gets a result without null', () => expectResult('plain'))

test.fails.each(['annotations', 'meta', 'is_error', 'structured'])(
  'the model gets a result whose %s is null',
  expectResult,
)
