/* Evidence, deliveries: Callbacks do not wait for runs, and arrive in the order of events. */
/* Deliveries do not wait for runs. While a later run of the session is active, a callback is retried and a hint is handled. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { channelSettings } from '../../../functions/runtime/settings/channel-settings.ts'
import { openChannels } from '../../../functions/runtime/channels.ts'
import { expectJson, heldTurn, openHttpHarness, type HttpHarness } from '../../http/harness.ts'
import { openReceiver, SECRET, type Receiver } from './receiver.ts'

let receiver: Receiver
let harness: HttpHarness
let ahead = 0
beforeEach(async () => {
  ahead = 0
  receiver = await openReceiver()
})
afterEach(async () => {
  await harness.close()
  await receiver.close()
})

test('a failed callback is retried while a later run of its session is in progress', async () => {
  const held = heldTurn()
  const channels = channelSettings({ webhooks: {}, callbacks: { crm: { url: receiver.url, secret: '${secret:CRM}' } } })
  const secrets = async () => (name: string) => (name === 'CRM' ? SECRET : undefined)
  harness = await openHttpHarness({
    script: [{ text: 'Hello.' }, held.turn],
    change: (ports) => ({ ...ports, clock: { ...ports.clock, now: () => Date.now() + ahead } }),
    channels: (ports) => openChannels({ ...ports, channels, allowedHosts: [receiver.host], secrets }),
    callbacks: new Set(['crm']),
  })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  receiver.respond = () => ({ status: 500 })
  await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'hi', callback: 'crm' })
  await expect.poll(() => receiver.requests.length).toBe(1)
  await expectJson(
    harness,
    202,
    'POST',
    '/v1/sessions/s/messages',
    { content: 'work long' },
    { prefer: 'respond-async' },
  )
  await expect
    .poll(async () => (await harness.ports.lease.readHeader({ tenant: 'default', session: 's' }))?.activeRun)
    .toBeDefined()
  receiver.respond = () => ({ status: 200 })
  ahead += 8_000
  try {
    // Sweeps run every 200 ms.
    await expect.poll(() => receiver.requests.length).toBe(2)
  } finally {
    held.letGo()
  }
})
