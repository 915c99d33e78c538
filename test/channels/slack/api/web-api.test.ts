import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import { createSlackApi } from '../../../../functions/channels/slack/api/web-api.ts'

test('a response with more than 100,000 values counts as an unknown outcome', async () => {
  const body = `{"ok":true,"messages":[${'{},'.repeat(200_000)}{}]}`
  const server = createServer((_request, response) => void response.end(body)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const api = createSlackApi({ clock: createSystemClock(), apiUrl: `http://${host}/api/`, allowedHosts: [host] })
  const call = api.call({ token: 'xoxb-1', method: 'auth.test', args: {}, team: 'T1' })
  await expect(call).rejects.toThrow(/100,000 values/)
  server.close()
  await once(server, 'close')
})
