/*
 * A cancel ends a run whose MCP server returned 20,000 images in one result. Today all of them are stored, and the cancel waits.
 *
 * Suite: test/adapters/mcp/
 */
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { reply, startRawServer } from '../adapters/mcp/servers.ts'
import type { RunningServer } from '../adapters/mcp/servers.ts'
import { startScriptedProgram } from '../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../e2e/scripted-program.ts'
import { pngWith } from '../fixtures/png.ts'

const IMAGES = 20_000
const CANCEL_MS = 5_000

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

async function storedObjects(): Promise<number> {
  const folder = join(scripted.folder, 'outputs')
  return existsSync(folder) ? (await readdir(folder, { recursive: true })).length : 0
}

/** Images that differ in the bytes behind them. */
function images(): object[] {
  return Array.from({ length: IMAGES }, (_, index) => {
    const data = pngWith(Buffer.from(String(index).padStart(6, '0'))).toString('base64')
    return { type: 'image', mimeType: 'image/png', data }
  })
}

test.fails('a cancel ends a call with 20,000 images within 5 s', async () => {
  scripted.play({ parts: [{ type: 'tool_call', id: 'c', name: 'evil__x', arguments: '{}' }] })
  const session = await scripted.newSession()
  const { client } = scripted
  const headers = { prefer: 'respond-async' }
  const { id } = await client.post<{ id: string }>(`/v1/sessions/${session}/messages`, { content: 'go' }, headers)
  const status = async () => (await client.get<{ status: string }>(`/v1/sessions/${session}/runs/${id}`)).status
  const isBeingStored = async () => (await storedObjects()) > 100 || (await status()) !== 'running'
  await expect.poll(isBeingStored).toBe(true)
  await client.send('POST', `/v1/sessions/${session}/runs/${id}/cancel`)
  await expect.poll(status, { timeout: CANCEL_MS }).not.toBe('running')
})
