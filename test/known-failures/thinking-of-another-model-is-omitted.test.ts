/*
 * A session has thinking blocks with signatures, and its agent's model changes to another one of the same provider. Reports say that
 * a signature counts only for the model that made it: the provider responds with 400. The session continues. Today the block is sent
 * again, and each later run fails. The server of this test behaves as reported; the real one could not be asked.
 *
 * Suite: test/e2e/
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startScriptedProgram } from '../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../e2e/scripted-program.ts'
import { anthropicFrames } from '../model-server/anthropic-frames.ts'
import { startRecordingServer } from '../model-server/recording-server.ts'
import type { RecordingServer } from '../model-server/recording-server.ts'

interface Block {
  readonly type: string
  readonly signature?: string
}
interface Body {
  readonly model: string
  readonly messages: readonly { readonly content: string | readonly Block[] }[]
}
const REFUSAL = { type: 'invalid_request_error', message: 'Invalid `signature` in `thinking` block' }

let server: RecordingServer
let scripted: ScriptedProgram
beforeAll(async () => {
  server = await startRecordingServer(({ body }) => {
    const { model, messages } = JSON.parse(body) as Body
    const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content))
    if (blocks.some(({ type, signature }) => type === 'thinking' && signature !== `by ${model}`)) {
      const headers = { 'content-type': 'application/json' }
      return { status: 400, headers, frames: [JSON.stringify({ type: 'error', error: REFUSAL })] }
    }
    const thinking = { type: 'reasoning', text: 'hm', signature: `by ${model}` } as const
    const frames = anthropicFrames({ parts: [thinking, { type: 'text', text: 'answer' }] }, model)
    return { headers: { 'content-type': 'text/event-stream' }, frames }
  })
  const older = { model: 'anthropic/claude-sonnet-4-5', tools: [] }
  const newer = { model: 'anthropic/claude-opus-4-6', tools: [] }
  scripted = await startScriptedProgram({
    agents: { agents: { default: {}, older, newer } },
    env: { ANTHROPIC_API_KEY: 'none', ANTHROPIC_BASE_URL: `${server.url}/v1` },
  })
})
afterAll(async () => {
  await scripted.close()
  await server.close()
})

async function expectRuns(...agents: readonly string[]): Promise<void> {
  const session = await scripted.newSession(agents[0])
  const states: string[] = []
  for (const agent of agents) {
    await scripted.client.send('PATCH', `/v1/sessions/${session}`, { agent })
    states.push((await scripted.ask(session, 'go')).status)
  }
  expect(states).toEqual(agents.map(() => 'completed'))
}

test('a session continues with the model of its thinking', () => expectRuns('older', 'older'))

test.fails('a session continues with another model than that of its thinking', () =>
  expectRuns('older', 'newer', 'newer'))
