/*
 * A provider splits an emoji between two chunks of its stream. A half waits for the next chunk; one that stays alone is sent as
 * U+FFFD. Today each stream sends two halves (escapes of half a surrogate pair): strict readers of JSON or UTF-8 fail on both frames.
 *
 * Suite: test/e2e/
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startScriptedProgram } from '../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../e2e/scripted-program.ts'
import { halfCharacters } from '../e2e/half-characters.ts'

let scripted: ScriptedProgram
beforeAll(async () => void (scripted = await startScriptedProgram()))
afterAll(() => scripted.close())

const input = { role: 'user', content: 'a' }
const open: { readonly [name: string]: () => Promise<{ readonly status: number; readonly text: string }> } = {
  'our own API': async () => {
    const session = await scripted.newSession()
    const headers = { accept: 'text/event-stream' }
    return scripted.client.send('POST', `/v1/sessions/${session}/messages`, { content: 'x' }, headers)
  },
  'Chat Completions': () =>
    scripted.client.send('POST', '/openai/v1/chat/completions', { model: 'default', stream: true, messages: [input] }),
  Responses: () => scripted.client.send('POST', '/openai/v1/responses', { model: 'default', stream: true, input: 'a' }),
  useChat: () => {
    const messages = [{ id: 'u1', role: 'user', parts: [{ type: 'text', text: 'a' }] }]
    return scripted.client.send('POST', '/v1/chat', { id: `u${Date.now()}`, agent: 'default', messages })
  },
  'AG-UI': () => {
    const empty = { state: {}, context: [], forwardedProps: {}, tools: [] }
    const messages = [{ id: 'm', ...input }]
    return scripted.client.send('POST', '/v1/ag-ui/default', {
      threadId: `a${Date.now()}`,
      runId: 'r',
      ...empty,
      messages,
    })
  },
}

async function expectWhole(name: string, pieceSize: number): Promise<void> {
  scripted.play({ parts: [{ type: 'text', text: 'fire 🔥 out' }], pieceSize })
  const stream = await open[name]?.()
  expect(stream?.status).toBe(200)
  expect(halfCharacters(stream?.text ?? '')).toBe(0)
}

test('a stream of Chat Completions has a whole emoji', () => expectWhole('Chat Completions', 7))

test.fails.each(Object.keys(open))('a stream of %s has a whole emoji that was split', (name) => expectWhole(name, 6))

test.fails('a completion that ends in half an emoji has no half', async () => {
  scripted.play({ parts: [{ type: 'text', text: 'cut \ud83d' }] })
  const request = { model: 'default', messages: [input] }
  const { text } = await scripted.client.send('POST', '/openai/v1/chat/completions', request)
  expect(halfCharacters(text)).toBe(0)
})
