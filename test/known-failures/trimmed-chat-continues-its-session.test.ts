/*
 * A chat page that names no session trims the model's text before it sends it back. It continues in its session: blanks at the ends,
 * line ends and Unicode forms carry no meaning. Today each turn creates a session and imports the whole conversation again.
 *
 * Suite: test/http/openai/
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startScriptedProgram } from '../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../e2e/scripted-program.ts'

const TURNS = 4

let scripted: ScriptedProgram
beforeAll(async () => void (scripted = await startScriptedProgram()))
afterAll(() => scripted.close())

interface Chat {
  readonly choices: readonly { readonly message: { readonly content: string } }[]
}

async function expectOneSession(name: string, text: string, change: (text: string) => string): Promise<void> {
  const messages: object[] = []
  const sessions = new Set<string | null>()
  for (let turn = 0; turn < TURNS; turn++) {
    messages.push({ role: 'user', content: `${name}, turn ${turn}` })
    scripted.play({ parts: [{ type: 'text', text }], pieceSize: 100 })
    const request = { model: 'default', messages }
    const { headers, body } = await scripted.client.send<Chat>('POST', '/openai/v1/chat/completions', request)
    sessions.add(headers.get('x-session-id'))
    messages.push({ role: 'assistant', content: change(body.choices[0]?.message.content ?? '') })
  }
  expect(sessions.size).toBe(1)
}

test('a chat continues in its session with the same text', () => expectOneSession('same', 'fine', (text) => text))

test.fails.each([
  ['trimmed', '\nfine\n', (text: string) => text.trim()],
  ['with other line ends', 'one\r\ntwo', (text: string) => text.replaceAll('\r\n', '\n')],
  ['in another Unicode form', 'cafe\u0301', (text: string) => text.normalize('NFC')],
] as const)('a chat continues in its session with the text %s', expectOneSession)
