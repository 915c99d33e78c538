import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { NO_CAPS } from '../../../functions/access/rates.ts'
import { liveSessionOf } from '../../../functions/channels/webhooks/receive.ts'
import { TooltrailError } from '../../../functions/domain/errors.ts'
import type { SessionKey } from '../../../functions/domain/session.ts'
import { channelFields, channelSettings } from '../../../functions/runtime/settings/channel-settings.ts'
import { openEndpoints } from '../../../functions/runtime/channels.ts'
import { openHttpHarness, type HttpHarness } from '../../http/harness.ts'

const verify = { preset: 'bearer', secrets: ['${secret:PLAIN}'] }
const orders = { verify, text: '{{/text}}', session: 'order-{{/order}}' }
const settings = { caps: NO_CAPS, here: true, secrets: async () => () => 'plain', agents: new Map() }

let harness: HttpHarness
let isUsedUp = false
beforeEach(async () => {
  const channels = channelSettings(z.strictObject(channelFields).parse({ webhooks: { orders } }))
  harness = await openHttpHarness({
    endpoints: (ports) => (service) => {
      const submit: typeof service.submit = (...given) => {
        if (isUsedUp) throw new TooltrailError('tenant_budget_used_up', 'the budget of the day is used up')
        return service.submit(...given)
      }
      return openEndpoints({ ...ports, ...settings, channels }, { ...service, submit })
    },
  })
})
afterEach(async () => {
  isUsedUp = false
  await harness.close()
})

/** Sends a delivery. Returns the id of its session, or the status of the refusal. */
async function deliver(text: string): Promise<unknown> {
  const headers = { authorization: 'Bearer plain', 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify({ order: 7, text }) }
  const response = await harness.program.app.request('http://hooks.example.test/webhooks/orders', init)
  const { session_id: session } = (await response.json()) as { session_id?: string }
  return session ?? response.status
}

const remove = (session: unknown) => harness.ports.deletion.tombstone({ tenant: 'default', session: String(session) })

test('a conversation whose session is deleted continues in one new session', async () => {
  expect(await deliver('first')).toBe('order-7')
  await remove('order-7')
  const second = await deliver('second')
  expect(second).toMatch(/^order-7-2-[0-9a-f]{8}$/)
  expect([await deliver('third'), await deliver('second')]).toEqual([second, second])
  await remove(second)
  expect(await deliver('fourth')).toMatch(/^order-7-3-[0-9a-f]{8}$/)
})

test('a message delivered before its session was deleted is not delivered to the new session', async () => {
  expect(await deliver('first')).toBe('order-7')
  await remove('order-7')
  expect([await deliver('first'), await deliver('second'), await deliver('first')]).toEqual([
    409,
    expect.stringMatching(/^order-7-2/),
    409,
  ])
})

test("a refused delivery is accepted into a new session after the conversation's session is deleted", async () => {
  expect(await deliver('first')).toBe('order-7')
  isUsedUp = true
  expect(await deliver('second')).toBe(429)
  isUsedUp = false
  await remove('order-7')
  expect(await deliver('second')).toMatch(/^order-7-2/)
})

test('a conversation stays in its new session even when its first session id becomes available again', async () => {
  await deliver('first')
  await remove('order-7')
  const second = await deliver('second')
  const { sessions, deletion } = harness.ports
  const isOver = async (key: SessionKey) => (key.session === 'order-7' ? undefined : deletion.state(key))
  const days31 = { sessions, deletion: { state: isOver } }
  expect(await liveSessionOf(days31, 'default', 'order-7')).toBe(second)
  await remove(second)
  expect(await liveSessionOf(days31, 'default', 'order-7')).toBe('order-7')
  expect(await liveSessionOf(days31, 'default', 'order-8')).toBe('order-8')
})
