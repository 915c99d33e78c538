/* Evidence, clients: A request runs under its own agent and instructions; a steered input begins a new chat
 * message. */
/*
 * A run is executed under the system message of its own request. This also holds if two clients continue one conversation at the
 * same time with different system messages.
 */
import { afterEach, expect, test } from 'vitest'
import { completionOf, type Turn } from '../../agent/harness.ts'
import { openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const HEADERS = { 'x-session-id': 's' }
const ask = (system: string) => {
  const messages = [
    { role: 'system', content: system },
    { role: 'user', content: `I am ${system}` },
  ]
  return harness.send('POST', '/openai/v1/chat/completions', { model: 'default', messages }, HEADERS)
}

async function expectOwnInstructions(isAtOnce: boolean): Promise<void> {
  const turn: Turn = async function* () {
    await new Promise((resolve) => setTimeout(resolve, 200))
    yield { type: 'completion', completion: completionOf({ text: 'done' }) }
  }
  harness = await openHttpHarness({ script: [turn, turn, turn] })
  const begun = ask('busy')
  await expect.poll(() => harness.requests.length).toBe(1)
  if (!isAtOnce) await begun
  const first = ask('A')
  if (!isAtOnce) await first
  await Promise.all([begun, first, ask('B')])
  const sent = harness.requests.map(({ instructions, messages }) => {
    const user = JSON.stringify(messages.findLast(({ role }) => role === 'user'))
    return [/I am (\w+)/.exec(user)?.[1], instructions]
  })
  expect(sent).toEqual(sent.map(([who]) => [who, who]))
}

test.each([false, true])(
  'a run has the system message of its own request (two concurrent requests: %s)',
  expectOwnInstructions,
)
