import { expect, test } from 'vitest'
import type { Ports } from '../../../functions/runtime/program.ts'
import { heldTurn, openHttpHarness } from '../harness.ts'

/** Ports with a fast clock: the keys of open streams are checked every 50 ms instead of every 5 s. */
const impatient = (ports: Ports): Ports => ({
  ...ports,
  clock: { ...ports.clock, sleep: (time, signal) => ports.clock.sleep(time === 5_000 ? 50 : time, signal) },
})

const say = (content: string) => [{ id: 'm1', role: 'user', content }]
const ASKED = {
  'Chat Completions': ['/openai/v1/chat/completions', { model: 'default', stream: true, messages: say('wait') }],
  'AG-UI': ['/v1/ag-ui/default', { threadId: 's', runId: 'r', messages: say('wait'), tools: [] }],
  'UI messages': [
    '/v1/chat',
    { id: 's', sdk: 7, messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'wait' }] }] },
  ],
} as const

test.each(Object.entries(ASKED))(
  'a stream of %s ends with a message when its key is revoked',
  async (_, [path, body]) => {
    const held = heldTurn()
    const harness = await openHttpHarness({ change: impatient, script: [held.turn] })
    try {
      const response = await harness.send('POST', path, body, await harness.key())
      expect(response.status).toBe(200)
      await harness.ports.keys.revoke('key_1', 1)
      const text = await response.text()
      expect(text).toContain('this API key has been revoked, or has expired')
      expect(text).not.toContain('stopping')
      expect(harness.lines.filter(({ level }) => level === 'error')).toEqual([])
    } finally {
      held.letGo()
      await harness.close()
    }
  },
)
