/*
 * A run is executed by the agent that its request names as `model`. This also holds if two clients continue one conversation at
 * the same time with different agents.
 */
import { afterEach, expect, test } from 'vitest'
import type { Ports } from '../../../functions/runtime/program.ts'
import { expectJson, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const HEADERS = { 'x-session-id': 's' }
const ask = (model: string) => {
  const messages = [{ role: 'user', content: `I am ${model}` }]
  return harness.send('POST', '/openai/v1/chat/completions', { model, messages }, HEADERS)
}

test.each([true, false])('a run has the agent of its own request (two concurrent requests: %s)', async (isAtOnce) => {
  const { promise: othersUpdate, resolve: updated } = Promise.withResolvers<void>()
  // The first request's update completes after the other request's update, which may happen in a store over the network.
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
})
