/*
 * Clients do not see the operator's secrets that an MCP server repeats in its failures: headers and the query of its address. Today
 * the text of such a failure goes to clients as it is.
 *
 * Suite: test/adapters/mcp/
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { reply, startRawServer } from '../adapters/mcp/servers.ts'
import type { RunningServer } from '../adapters/mcp/servers.ts'
import { startScriptedProgram } from '../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../e2e/scripted-program.ts'

const IN_HEADER = 'operators-own-value-123456'
const IN_URL = 'value-in-url-9876'

let server: RunningServer
let scripted: ScriptedProgram
beforeAll(async () => {
  server = await startRawServer((message, response, request) => {
    if (message.method === 'tools/list')
      return reply(response, message, { tools: [{ name: 'x', inputSchema: { type: 'object' } }] })
    return response.writeHead(401).end(`the key ${String(request.headers['x-api-key'])} is not good at ${request.url}`)
  })
  const evil = { url: `${server.url}?key=${IN_URL}`, headers: { 'x-api-key': '${secret:MCP_KEY}' } }
  const env = { MCP_KEY: IN_HEADER, TOOLTRAIL_ALLOWED_HOSTS: server.host }
  scripted = await startScriptedProgram({ agents: { agents: { default: { mcp: { evil } } } }, env })
})
afterAll(async () => {
  await scripted.close()
  await server.close()
})

test.fails.each([
  ['a header', IN_HEADER],
  ['the address', IN_URL],
])('the failure of a call does not show a secret in %s', async (_, secret) => {
  scripted.play({ parts: [{ type: 'tool_call', id: 'c', name: 'evil__x', arguments: '{}' }] })
  const session = await scripted.newSession()
  await scripted.ask(session, 'go')
  const results = await scripted.results(session)
  expect(results.map(({ status }) => status)).toEqual(['error'])
  expect(JSON.stringify(results)).not.toContain(secret)
})
