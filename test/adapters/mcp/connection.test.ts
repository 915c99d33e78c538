import { afterEach, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { createConnection } from '../../../functions/adapters/mcp/connection.ts'
import type { McpConnection } from '../../../functions/adapters/mcp/connection.ts'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import { eventually } from '../../eventually.ts'
import { startMcpServer } from './servers.ts'

let names: string[]
let token: string
let now: number
let seen: { readonly authorization: string | null; readonly method: string; readonly body: string }[]
let server: Awaited<ReturnType<typeof startMcpServer>>
let connection: McpConnection

beforeEach(async () => {
  names = ['look']
  token = 'first'
  now = 1_000_000
  seen = []
  server = await startMcpServer(
    (one) => {
      for (const name of names)
        one.registerTool(name, { inputSchema: z.object({}) }, () => ({ content: [{ type: 'text', text: name }] }))
    },
    (headers, body) => {
      const { method } = JSON.parse(body) as { readonly method: string }
      seen.push({ authorization: headers.get('authorization'), method, body })
    },
  )
  connection = createConnection({
    url: server.url,
    headers: async () => ({ authorization: `Bearer ${token}` }),
    longestMs: 5_000,
    version: '1',
    allowedHosts: [server.host],
    clock: { ...createSystemClock(), now: () => now },
  })
})
afterEach(() => server.close())

const listed = async (): Promise<string[]> =>
  (await connection.list()).tools.map((tool) => String((tool as { readonly name: string }).name))
const lists = (): number => seen.filter(({ method }) => method === 'tools/list').length

test('a tool list is cached for a minute, and concurrent readers share one request', async () => {
  expect(await Promise.all([listed(), listed()])).toEqual([['look'], ['look']])
  names = ['look', 'buy']
  now += 59_000
  expect(await listed()).toEqual(['look'])
  expect(lists()).toBe(1)
  now += 1_000
  expect(await listed()).toEqual(['look', 'buy'])
  expect(lists()).toBe(2)
})

test('a tool list is read again as soon as the server announces a change', async () => {
  expect(await listed()).toEqual(['look'])
  await eventually(async () => expect(seen.map(({ method }) => method)).toContain('subscriptions/listen'))
  names = ['buy']
  await eventually(async () => {
    server.announceChange()
    expect(await listed()).toEqual(['buy'])
  })
})

test('a changed secret is sent with the next request', async () => {
  await listed()
  token = 'second'
  await connection.call(
    'look',
    {},
    {
      tenant: 'default',
      signal: new AbortController().signal,
      timeoutMs: 5_000,
    },
  )
  const { authorization, body } = seen.at(-1) ?? {}
  expect(new Set(seen.slice(0, -1).map((one) => one.authorization))).toEqual(new Set(['Bearer first']))
  expect(authorization).toBe('Bearer second')
  expect(body).toContain('progressToken')
})

test('a server that fails to list its tools is asked again after five seconds', async () => {
  await server.close()
  await expect(listed()).rejects.toThrow('cannot be reached')
  const first = connection.list()
  expect(connection.list()).toBe(first)
  await expect(first).rejects.toThrow()
  now += 5_001
  const second = connection.list()
  expect(second).not.toBe(first)
  await expect(second).rejects.toThrow()
})
