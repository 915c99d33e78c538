import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { channelSettings } from '../../../functions/runtime/settings/channel-settings.ts'
import { openChannels } from '../../../functions/runtime/channels.ts'
import type { Turn } from '../../agent/harness.ts'
import { expectJson, openHttpHarness, type HttpHarness } from '../../http/harness.ts'
import { openReceiver, SECRET } from './receiver.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

/** Opens a receiver that responds to nothing until `release` is called, then to everything. */
async function openSilentReceiver() {
  const waiting: ServerResponse[] = []
  const ids: string[] = []
  let isReleased = false
  const server = createServer((request, response) => {
    ids.push(String(request.headers['webhook-id']))
    if (isReleased) response.writeHead(204).end()
    else waiting.push(response)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    ids,
    release(): void {
      isReleased = true
      for (const response of waiting) response.writeHead(204).end()
    },
  }
}

test('a silent receiver has at most 50 open requests of a tenant, and delays no other receiver', async () => {
  const silent = await openSilentReceiver()
  const prompt = await openReceiver()
  closers.push(() => prompt.close())
  let aheadMs = 0
  const settings = {
    slow: { url: `http://${silent.host}/hook`, secret: SECRET },
    crm: { url: prompt.url, secret: SECRET },
  }
  const harness: HttpHarness = await openHttpHarness({
    script: Array.from({ length: 62 }, (): Turn => ({ text: 'Hello.' })),
    change: (ports) => ({ ...ports, clock: { ...ports.clock, now: () => Date.now() + aheadMs } }),
    channels: (ports) =>
      openChannels({
        ...ports,
        channels: channelSettings({ webhooks: {}, callbacks: settings }),
        allowedHosts: [silent.host, prompt.host],
        secrets: async () => () => undefined,
      }),
    callbacks: new Set(['slow', 'crm']),
  })
  closers.unshift(() => harness.close())
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const send = (callback: string) =>
    expectJson<{ id: string }>(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'hi', callback })
  const pending = async () =>
    (await harness.ports.outbox.pending({ tenant: 'default', session: 's' }, 100)).filter(
      ({ owner }) => owner === undefined,
    )
  const runs = new Set<string>()
  for (let count = 0; count < 60; count++) runs.add((await send('slow')).id)
  await send('crm')
  await expect.poll(() => prompt.requests).toHaveLength(1)
  await expect.poll(() => silent.ids).toHaveLength(50)
  await expect.poll(pending).toHaveLength(10)
  expect(silent.ids).toHaveLength(50)
  silent.release()
  await expect
    .poll(async () => {
      aheadMs += 60_000
      return new Set(silent.ids)
    })
    .toEqual(runs)
  expect(silent.ids).toHaveLength(60)
})
