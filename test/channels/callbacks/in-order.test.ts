/* Evidence, deliveries: Callbacks do not wait for runs, and arrive in the order of events. */
/*
 * Callbacks of a run arrive in the order of its events: each pause's callback before the run's last callback.
 * This order holds even if an attempt fails, or if the process dies after a pause that was answered at once.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { channelSettings } from '../../../functions/runtime/settings/channel-settings.ts'
import { openChannels } from '../../../functions/runtime/channels.ts'
import { makeTool, type Turn } from '../../agent/harness.ts'
import { expectJson, openHttpHarness, type HttpHarness } from '../../http/harness.ts'
import { openReceiver, SECRET, type Receiver } from './receiver.ts'

let receiver: Receiver
let harness: HttpHarness
let isDead = true
beforeEach(async () => void (receiver = await openReceiver()))
afterEach(async () => {
  await harness.close()
  await receiver.close()
})

test('a process that takes over a delivery sends run.paused before run.completed', async () => {
  const channels = channelSettings({ webhooks: {}, callbacks: { crm: { url: receiver.url, secret: '${secret:CRM}' } } })
  const secrets = async () => (name: string) => (name === 'CRM' ? SECRET : undefined)
  let ahead = 0
  harness = await openHttpHarness({
    script: [{ calls: [{ name: 'ask', id: 'a' }] }, { text: 'done' }],
    change: (ports) => ({
      ...ports,
      clock: { ...ports.clock, now: () => Date.now() + ahead },
      // The executing process dies before it claims the delivery.
      outbox: { ...ports.outbox, read: async (key) => (isDead ? undefined : ports.outbox.read(key)) },
    }),
    channels: (ports) => openChannels({ ...ports, channels, allowedHosts: [receiver.host], secrets }),
    callbacks: new Set(['crm']),
  })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const tools = [{ name: 'ask', description: 'asks', parameters: { type: 'object' } }]
  const run = await expectJson<{ id: string; status: string }>(harness, 200, 'POST', '/v1/sessions/s/messages', {
    content: 'hi',
    callback: 'crm',
    tools,
  })
  expect(run.status).toBe('paused')
  const body = { results: [{ tool_call_id: 'a', output: 'yes' }] }
  await expectJson(harness, 200, 'POST', `/v1/sessions/s/runs/${run.id}/tool-results`, body)
  isDead = false
  ahead = 70_000
  await expect.poll(() => receiver.requests.length).toBe(2)
  expect(receiver.requests.map(({ type }) => type)).toEqual(['run.paused', 'run.completed'])
})

test('run.completed waits for the retries of an earlier run.paused', async () => {
  const channels = channelSettings({ webhooks: {}, callbacks: { crm: { url: receiver.url, secret: '${secret:CRM}' } } })
  const secrets = async () => (name: string) => (name === 'CRM' ? SECRET : undefined)
  let ahead = 0
  harness = await openHttpHarness({
    script: [{ calls: [{ name: 'ask', id: 'a' }] }, { text: 'done' }],
    change: (ports) => ({ ...ports, clock: { ...ports.clock, now: () => Date.now() + ahead } }),
    channels: (ports) => openChannels({ ...ports, channels, allowedHosts: [receiver.host], secrets }),
    callbacks: new Set(['crm']),
  })
  receiver.respond = () => ({ status: 500 })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const tools = [{ name: 'ask', description: 'asks', parameters: { type: 'object' } }]
  const run = await expectJson<{ id: string }>(harness, 200, 'POST', '/v1/sessions/s/messages', {
    content: 'hi',
    callback: 'crm',
    tools,
  })
  await expect.poll(() => receiver.requests.length).toBe(1)
  const body = { results: [{ tool_call_id: 'a', output: 'yes' }] }
  await expectJson(harness, 200, 'POST', `/v1/sessions/s/runs/${run.id}/tool-results`, body)
  const end = async () => (await harness.ports.outbox.read({ tenant: 'default', session: 's', id: run.id }))?.state
  await expect.poll(async () => JSON.stringify(await end())).toContain('body')
  receiver.respond = () => ({ status: 200 })
  ahead = 10_000
  await expect.poll(() => receiver.requests.length).toBe(3)
  expect(receiver.requests.map(({ type }) => type)).toEqual(['run.paused', 'run.paused', 'run.completed'])
})

describe('the callback of a steered input', () => {
  const tools = [{ name: 'ask', description: 'asks', parameters: { type: 'object' } }]
  const background = { prefer: 'respond-async' }
  let ahead = 0

  /** Opens a program. Its tool `wait` ends when the returned function is called. */
  async function open(script: readonly Turn[]): Promise<() => void> {
    const channels = channelSettings({
      webhooks: {},
      callbacks: { crm: { url: receiver.url, secret: '${secret:CRM}' } },
    })
    const secrets = async () => (name: string) => (name === 'CRM' ? SECRET : undefined)
    const gate = Promise.withResolvers<void>()
    ahead = 0
    harness = await openHttpHarness({
      ...{ script, callbacks: new Set(['crm']) },
      tools: [makeTool('wait', async () => gate.promise.then(() => ({ text: 'ok' })))],
      change: (ports) => ({ ...ports, clock: { ...ports.clock, now: () => Date.now() + ahead } }),
      channels: (ports) => openChannels({ ...ports, channels, allowedHosts: [receiver.host], secrets }),
    })
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
    return gate.resolve
  }

  async function steer(): Promise<void> {
    const steered = { content: 'more', on_busy: 'steer', callback: 'crm' }
    await expectJson(harness, 202, 'POST', '/v1/sessions/s/messages', steered, background)
  }

  test('reports no pause that precedes the input', async () => {
    const endWait = await open([
      { calls: [{ name: 'ask', id: 'a' }] },
      { calls: [{ name: 'wait', id: 'b' }] },
      { text: 'done' },
    ])
    const asked = { content: 'hi', tools }
    const run = await expectJson<{ id: string }>(harness, 200, 'POST', '/v1/sessions/s/messages', asked)
    const results = { results: [{ tool_call_id: 'a', output: 'yes' }] }
    await expectJson(harness, 202, 'POST', `/v1/sessions/s/runs/${run.id}/tool-results`, results, background)
    await expect.poll(() => harness.requests.length).toBe(2)
    await steer()
    endWait()
    await expect.poll(() => harness.requests.length).toBe(3)
    ahead = 61_000
    await expect.poll(() => receiver.requests.map(({ type }) => type).at(-1)).toBe('run.completed')
    expect(receiver.requests).toHaveLength(1)
  })

  test('reports a pause that follows the input, even if the clock of the executing process is behind', async () => {
    const endWait = await open([{ calls: [{ name: 'wait', id: 'a' }] }, { calls: [{ name: 'ask', id: 'b' }] }])
    // Only the clock of the executing process is behind. The store that accepts inputs uses its own clock.
    ahead = -20_000
    await expectJson(harness, 202, 'POST', '/v1/sessions/s/messages', { content: 'hi', tools }, background)
    await expect.poll(() => harness.requests.length).toBe(1)
    await steer()
    endWait()
    const runs = () => expectJson<{ data: { status: string }[] }>(harness, 200, 'GET', '/v1/sessions/s/runs')
    await expect.poll(async () => (await runs()).data.map(({ status }) => status)).toContain('paused')
    ahead = 81_000
    await expect.poll(() => receiver.requests.map(({ type }) => type)).toEqual(['run.paused'])
  })
})
