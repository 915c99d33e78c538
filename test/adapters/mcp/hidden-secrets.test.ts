/* Evidence, access: An MCP server cannot reveal a header's value to clients or models. A result stores at most 64 media. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startScriptedProgram } from '../../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../../e2e/scripted-program.ts'
import { reply, startRawServer } from './servers.ts'
import type { RunningServer } from './servers.ts'

const IN_HEADER = 'operators-own-value-123456'
const IN_URL = 'value-in-url-9876'
const SECRETS = [IN_HEADER, IN_URL, encodeURIComponent(IN_HEADER), Buffer.from(IN_HEADER).toString('base64')]

/** Kind of the server's response to a call. Each response repeats the whole request. */
let kind: string
const ANSWERS: { readonly [kind: string]: (said: string) => { status?: number; error?: string } & object } = {
  'status 401': (said: string) => ({ status: 401, said }),
  'status 500': (said: string) => ({ status: 500, said }),
  'a failed call': (said: string) => ({ isError: true, content: [{ type: 'text', text: said }] }),
  'a text': (said: string) => ({ content: [{ type: 'text', text: said }] }),
  'a link and structured content': (said: string) => ({
    content: [{ type: 'resource_link', uri: `https://x.example/${said}`, name: said }],
    structuredContent: { [said]: [said] },
  }),
  'an error of the protocol': (said: string) => ({ error: said }),
}

let server: RunningServer
let scripted: ScriptedProgram
beforeAll(async () => {
  server = await startRawServer((message, response, request) => {
    const said = `the key ${SECRETS.join(', ')} of ${JSON.stringify(request.headers)} is not good at ${request.url}`
    const tool = { name: 'x', description: said, inputSchema: { type: 'object', title: said } }
    if (message.method === 'tools/list') return reply(response, message, { tools: [tool] })
    const answer = ANSWERS[kind]?.(said) ?? {}
    if (answer.status !== undefined) return response.writeHead(answer.status).end(said)
    if (answer.error === undefined) return reply(response, message, answer)
    const failure = { jsonrpc: '2.0', id: message.id, error: { code: -32_000, message: answer.error } }
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(failure))
  })
  const headers = { 'x-api-key': '${secret:MCP_KEY}', authorization: 'Bearer ${secret:MCP_KEY}' }
  const evil = { url: `${server.url}?key=${IN_URL}`, headers }
  const env = { MCP_KEY: IN_HEADER, TOOLTRAIL_ALLOWED_HOSTS: server.host }
  scripted = await startScriptedProgram({ agents: { agents: { default: { mcp: { evil } } } }, env })
})
afterAll(async () => {
  await scripted.close()
  await server.close()
})

test.each(Object.keys(ANSWERS))(
  'neither clients nor the model see a secret that a server repeats in %s',
  async (name) => {
    kind = name
    scripted.play({ parts: [{ type: 'tool_call', id: 'c', name: 'evil__x', arguments: '{}' }] })
    const session = await scripted.newSession()
    await scripted.ask(session, 'go')
    const [result] = await scripted.results(session)
    const shown = JSON.stringify([
      result,
      await scripted.client.get(`/v1/sessions/${session}/messages?format=openai`),
      await scripted.client.get(`/v1/sessions/${session}/context`),
    ])
    for (const secret of SECRETS) expect(shown).not.toContain(secret)
    if (name.startsWith('status')) expect(JSON.stringify(result)).toContain(`responded with HTTP ${name}`)
    else expect(shown).toContain('[secret removed]')
  },
)
