/*
 * A client's tool does not replace a tool of the server with the same name. Today it does, and the client's result is in the history
 * under the name of the server's tool.
 *
 * Suite: test/http/v1/
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RunBody } from '../e2e/backend/client.ts'
import { startScriptedProgram } from '../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../e2e/scripted-program.ts'

let scripted: ScriptedProgram
beforeAll(async () => void (scripted = await startScriptedProgram({ env: { MODEL: 'demo/demo', MODEL_BASE_URL: '' } })))
afterAll(() => scripted.close())

test.fails('a client tool with the name of a server tool is refused, or the server tool runs', async () => {
  const tools = [{ name: 'demo_sources', description: 'mine', parameters: { type: 'object' } }]
  const path = `/v1/sessions/${await scripted.newSession()}/messages`
  const reply = await scripted.client.send<RunBody>(
    'POST',
    path,
    { content: 'cite the hours', tools },
    { prefer: 'wait=60' },
  )
  const outcome = reply.status >= 400 ? 'refused' : reply.body.status
  expect(['refused', 'completed']).toContain(outcome)
})
