/* Evidence, access: A page of another site cannot start a request. A webhook works even if its session id is taken. */
import { createHash } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { Webhook } from 'standardwebhooks'
import { z } from 'zod'
import { NO_CAPS } from '../../../functions/access/rates.ts'
import { channelFields, channelSettings } from '../../../functions/runtime/settings/channel-settings.ts'
import { openEndpoints } from '../../../functions/runtime/channels.ts'
import { openHttpHarness, type HttpHarness } from '../../http/harness.ts'
import { SECRET } from '../callbacks/receiver.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const verify = { preset: 'standard', secrets: [SECRET] }
const WEBHOOKS = { owned: { verify, text: '{{/text}}', session: 's-{{/id}}', owner: '{{/who}}' } }

async function open(): Promise<void> {
  const channels = channelSettings(z.strictObject(channelFields).parse({ webhooks: WEBHOOKS }))
  const secrets = async () => () => undefined
  harness = await openHttpHarness({
    script: Array.from({ length: 8 }, () => ({ text: 'Thanks.' })),
    endpoints: (ports) => (service) =>
      openEndpoints({ ...ports, agents: new Map(), caps: NO_CAPS, channels, secrets, here: true }, service),
  })
}

let deliveries = 0
/** Sends a delivery. Returns the id of its session. */
async function deliver(owner = 'ada'): Promise<unknown> {
  const id = `m-${++deliveries}`
  const body = JSON.stringify({ id: '7', text: `delivery ${deliveries}`, who: owner })
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
    'webhook-signature': new Webhook(SECRET).sign(id, new Date(), body),
  }
  const response = await harness.program.app.request('http://hooks.example.test/webhooks/owned', {
    ...{ method: 'POST', headers, body },
  })
  expect(response.status).toBe(202)
  return ((await response.json()) as Record<string, unknown>)['session_id']
}

const keyOf = (session: string) => ({ tenant: 'default', session })
const takeId = (session: string) =>
  harness.ports.sessions.create({ ...keyOf(session), agent: 'default', owner: 'eve', metadata: {}, ownerBound: true })
const replacementOf = (id: string) => `${id}-${createHash('sha256').update(`owned ${id}`).digest('hex').slice(0, 8)}`

test('deliveries whose session id is in use go to one replacement session, even after the id is free', async () => {
  await open()
  const { sessions, deletion, reader } = harness.ports
  const [first, second] = [replacementOf('s-7'), replacementOf(replacementOf('s-7'))]
  await takeId('s-7')
  await takeId(first)
  expect(await deliver()).toBe(second)
  expect(await deliver('bob')).toBe(second)
  expect(await sessions.read(keyOf(second))).toMatchObject({ owner: 'ada', byChannel: true })
  // The deletion of the sessions `s-7` and `first` frees their ids, but the conversation stays in its session.
  for (const session of ['s-7', first]) await deletion.tombstone(keyOf(session))
  expect(await deliver()).toBe(second)
  expect((await reader.runs(keyOf('s-7'), { limit: 9 })).runs).toEqual([])
})

test('a session with a replacement id, created beforehand by a key, does not affect deliveries', async () => {
  await open()
  await takeId(replacementOf('s-7'))
  expect(await deliver()).toBe('s-7')
})
