/*
 * An MCP server lists one tool with null for what it does not set. The agent has the other tools of the list. Today it has none.
 *
 * Suite: test/adapters/mcp/
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { reply, startRawServer } from '../adapters/mcp/servers.ts'
import type { RunningServer } from '../adapters/mcp/servers.ts'
import { startScriptedProgram } from '../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../e2e/scripted-program.ts'

const inputSchema = { type: 'object' }
const ODD: { readonly [field: string]: object } = {
  nothing: { inputSchema },
  description: { inputSchema, description: null },
  annotations: { inputSchema, annotations: null },
  outputSchema: { inputSchema, outputSchema: null },
  required: { inputSchema: { type: 'object', properties: {}, required: null } },
}

let server: RunningServer
let scripted: ScriptedProgram
beforeAll(async () => {
  server = await startRawServer((message, response, request) => {
    const odd = ODD[request.url?.split('?')[1] ?? '']
    reply(response, message, {
      tools: [
        { name: 'good', inputSchema },
        { name: 'odd', ...odd },
      ],
    })
  })
  const agents = Object.keys(ODD).map((field) => [
    field,
    { tools: [], mcp: { srv: { url: `${server.url}?${field}` } } },
  ])
  scripted = await startScriptedProgram({
    agents: { agents: { default: {}, ...Object.fromEntries(agents) } },
    env: { TOOLTRAIL_ALLOWED_HOSTS: server.host },
  })
})
afterAll(async () => {
  await scripted.close()
  await server.close()
})

async function expectOthers(field: string): Promise<void> {
  scripted.play()
  await scripted.ask(await scripted.newSession(field), 'go')
  const names = scripted.requests()[0]?.body.tools?.map((tool) => tool.function.name) ?? []
  expect(names).toContain('srv__good')
}

test('an agent has the tools of a list without null', () => expectOthers('nothing'))

test.fails.each(['description', 'annotations', 'outputSchema', 'required'])(
  'an agent has the other tools of a list with null as %s',
  expectOthers,
)
