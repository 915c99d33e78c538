/*
 * A run is executed by the agent that its request names as `model`, under the system message of that request. Here two clients
 * continue one conversation at the same time with different ones.
 *
 * Suite: test/http/openai/
 */
import { afterEach, expect, test } from 'vitest'
import type { Ports } from '../../functions/runtime/program.ts'
import { completionOf, type Turn } from '../agent/harness.ts'
import { expectJson, openHttpHarness } from '../http/harness.ts'
import type { HttpHarness } from '../http/harness.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const HEADERS = { 'x-session-id': 's' }
const ask = (model: string, system?: string) =>
  harness.send(
    'POST',
    '/openai/v1/chat/completions',
    {
      model,
      messages: [
        ...(system === undefined ? [] : [{ role: 'system', content: system }]),
        { role: 'user', content: `I am ${system ?? model}` },
      ],
    },
    HEADERS,
  )

async function expectOwnAgent(isAtOnce: boolean): Promise<void> {
  const { promise: othersUpdate, resolve: updated } = Promise.withResolvers<void>()
  // The store of A answers after B's update, as it may where stores are over the network.
  const change = (ports: Ports): Ports => ({
    ...ports,
    sessions: {
      ...ports.sessions,
      async update(key, what) {
        const session = await ports.sessions.update(key, what)
        if (what.agent === 'other') updated()
        else if (isAtOnce) await othersUpdate
        return session
      },
    },
  })
  harness = await openHttpHarness({ agents: [{ name: 'third' }], change })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's', agent: 'third' })
  const first = ask('default')
  if (!isAtOnce) await first
  const [a, b] = await Promise.all([first, ask('other')])
  const agentOf = async (response: Response) =>
    (await expectJson(harness, 200, 'GET', `/v1/sessions/s/runs/${response.headers.get('x-run-id')}`))['agent']
  expect([await agentOf(a), await agentOf(b)]).toEqual(['default', 'other'])
}

test.each([false])('a run has the agent of its request (two requests at the same time: %s)', expectOwnAgent)
test.fails.each([true])('a run has the agent of its request (two requests at the same time: %s)', expectOwnAgent)

async function expectOwnInstructions(isAtOnce: boolean): Promise<void> {
  const turn: Turn = async function* () {
    await new Promise((resolve) => setTimeout(resolve, 200))
    yield { type: 'completion', completion: completionOf({ text: 'done' }) }
  }
  harness = await openHttpHarness({ script: [turn, turn, turn] })
  const begun = ask('default', 'busy')
  await expect.poll(() => harness.requests.length).toBe(1)
  if (!isAtOnce) await begun
  const first = ask('default', 'A')
  if (!isAtOnce) await first
  await Promise.all([begun, first, ask('default', 'B')])
  const told = harness.requests.map(({ instructions, messages }) => {
    const user = JSON.stringify(messages.findLast(({ role }) => role === 'user'))
    return [/I am (\w+)/.exec(user)?.[1], instructions]
  })
  expect(told).toEqual(told.map(([who]) => [who, who]))
}

test.each([false])(
  'a run has the system message of its request (two requests at the same time: %s)',
  expectOwnInstructions,
)
test.fails.each([true])(
  'a run has the system message of its request (two requests at the same time: %s)',
  expectOwnInstructions,
)
