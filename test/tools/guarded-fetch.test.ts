/* Evidence, deliveries: A receiver that never responds does not delay deliveries to other receivers. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { guardedFetch } from '../../functions/tools/guarded-fetch.ts'

/** A server whose responses never end. */
let url: URL
let closed: Promise<unknown>
const server = createServer((_request, response: ServerResponse) => {
  closed = once(response, 'close')
  response.writeHead(200).write('and so on')
})

beforeEach(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
})
afterEach(async () => {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

test.each(['before anything of it was read', 'in the middle'])(
  'cancelling a body closes its connection at once, %s',
  async (when) => {
    const limits = { bytes: 1_000, milliseconds: 60_000 }
    const response = await guardedFetch(url, {
      method: 'GET',
      headers: new Headers(),
      limits,
      allowedHosts: [url.host],
    })
    const reader = response.body?.getReader()
    if (when === 'in the middle') expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('and so on')
    await reader?.cancel()
    await expect(closed).resolves.toBeDefined()
  },
  10_000,
)

test('a body longer than its limit is aborted with an error that names the limit', async () => {
  const limits = { bytes: 5, milliseconds: 60_000 }
  const response = await guardedFetch(url, { method: 'GET', headers: new Headers(), limits, allowedHosts: [url.host] })
  await expect(response.text()).rejects.toThrow('sent more than the limit of 5 bytes')
  await closed
})
