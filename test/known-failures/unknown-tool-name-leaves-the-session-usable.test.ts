/*
 * A model calls a tool whose name no provider accepts in a request. The call gets its error result, and this run and each later one
 * continue: what is replayed has a name of letters, digits, _ and -, 1 to 64 of them. Today the name is replayed as it came, the
 * provider responds with 400, and each later run of the session fails with `invalid_request`. Log and search show the model's name.
 *
 * Suite: test/e2e/
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startScriptedProgram } from '../e2e/scripted-program.ts'
import type { ScriptedProgram } from '../e2e/scripted-program.ts'
import type { ChatRequest } from '../model-server/openai-server.ts'

const ACCEPTED = /^[a-zA-Z0-9_-]{1,64}$/

let scripted: ScriptedProgram
beforeAll(async () => void (scripted = await startScriptedProgram({ refuse })))
afterAll(() => scripted.close())

function refuse({ messages }: ChatRequest): string | undefined {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
  return calls.every((call) => ACCEPTED.test(call.function.name))
    ? undefined
    : 'name: string does not match the pattern'
}

async function expectTwoRuns(name: string): Promise<void> {
  scripted.play({ parts: [{ type: 'tool_call', id: 'call_1', name, arguments: '{}' }] })
  const session = await scripted.newSession()
  const first = await scripted.ask(session, 'go')
  const second = await scripted.ask(session, 'and now?')
  expect([first.status, second.status]).toEqual(['completed', 'completed'])
}

test('two runs complete after a call of no_such_tool', () => expectTwoRuns('no_such_tool'))

test.fails.each(['browser.tabs.open', '$LOOKUP', 'current_time<|channel|>commentary', 'open_file" path="a.txt"'])(
  'two runs complete after a call of %s',
  expectTwoRuns,
)
