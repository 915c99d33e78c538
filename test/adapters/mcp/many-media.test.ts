/* Evidence, access: An MCP server cannot reveal a header's value to clients or models. A result stores at most 64 media. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startScriptedProgram } from '../../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../../e2e/scripted-program.ts'
import { pngWith } from '../../fixtures/png.ts'
import { reply, startRawServer } from './servers.ts'
import type { RunningServer } from './servers.ts'

const IMAGES = 20_000

let server: RunningServer
let scripted: ScriptedProgram
beforeAll(async () => {
  server = await startRawServer((message, response) => {
    const list = { tools: [{ name: 'x', inputSchema: { type: 'object' } }] }
    reply(response, message, message.method === 'tools/list' ? list : { content: images() })
  })
  const agents = { agents: { default: { mcp: { evil: { url: server.url } } } } }
  scripted = await startScriptedProgram({ agents, env: { TOOLTRAIL_ALLOWED_HOSTS: server.host } })
})
afterAll(async () => {
  await scripted.close()
  await server.close()
})

/** Creates images with different bytes. */
function images(): object[] {
  return Array.from({ length: IMAGES }, (_, index) => {
    const data = pngWith(Buffer.from(String(index).padStart(6, '0'))).toString('base64')
    return { type: 'image', mimeType: 'image/png', data }
  })
}

test('a result with 20,000 images stores 64 of them, and states how many images it omits', async () => {
  scripted.play({ parts: [{ type: 'tool_call', id: 'c', name: 'evil__x', arguments: '{}' }] })
  const session = await scripted.newSession()
  await scripted.ask(session, 'go')
  const [result] = await scripted.results(session)
  expect(result?.status).toBe('completed')
  expect(JSON.stringify(result)).toContain(' and 19872 more left out: a message has at most 64 images and files]')
  const stored = await readdir(join(scripted.folder, 'outputs'), { recursive: true })
  expect(stored.filter((name) => /[0-7][0-9A-Z]{25}$/.test(name)).length).toBeLessThanOrEqual(64 + 1)
})
