/* Evidence, limits: An MCP server can cause bounded work only: requests, streams, lists and open calls. */
import type { ServerResponse } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { createConnection } from '../../../functions/adapters/mcp/connection.ts'
import type { McpConnection } from '../../../functions/adapters/mcp/connection.ts'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import type { Clock } from '../../../functions/ports/clock.ts'
import { until } from '../../eventually.ts'
import { reply, startRawServer } from './servers.ts'
import type { Respond } from './servers.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const system = createSystemClock()

/** Connects to a new server that responds to calls with `respond`. `seen`: numbers of requests that the server received. */
async function connect(respond: Respond, { clock = system, stream }: Options = {}) {
  const seen = { answers: 0, open: 0, mostOpen: 0, lists: 0, mostLists: 0, streams: 0 }
  const note = (kind: 'open' | 'lists', most: 'mostOpen' | 'mostLists', response: ServerResponse): void => {
    seen[most] = Math.max(seen[most], ++seen[kind])
    response.on('close', () => seen[kind]--)
  }
  const server = await startRawServer(
    (message, response, request) => {
      if ((message.method as string | undefined) === undefined) seen.answers++
      if (message.method === 'tools/list') note('lists', 'mostLists', response)
      else note('open', 'mostOpen', response)
      return respond(message, response, request)
    },
    stream &&
      ((response) => {
        seen.streams++
        response.on('close', () => seen.streams--)
        stream(response)
      }),
  )
  closing.push(() => server.close())
  const { url, host } = server
  const settings = { url, headers: async () => ({}), longestMs: 20_000, version: '1', allowedHosts: [host], clock }
  return { connection: createConnection(settings), seen, server }
}

interface Options {
  readonly clock?: Clock
  readonly stream?: (response: ServerResponse) => void
}

const call = ({ call: send }: McpConnection, tenant = 'default', signal = new AbortController().signal) =>
  send('look', {}, { tenant, signal, timeoutMs: 20_000 })

const RESULT = { content: [{ type: 'text', text: 'fine' }] }
const event = (message: object): string => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
const acknowledge = (response: ServerResponse): unknown => response.writeHead(202).end()
const isCall = (method: unknown): boolean => method === 'tools/call'

test.each(['ping', 'sampling/createMessage', 'elicitation/create', 'roots/list', 'nonsense'])(
  'the client answers at most 100 requests of a server in one response, four at a time: %s',
  async (method) => {
    const { connection, seen } = await connect(({ method: asked }, response) => {
      if (!isCall(asked)) return acknowledge(response)
      const requests = Array.from({ length: 20_000 }, (_, id) => event({ id: `p${id}`, method }))
      return response.writeHead(200, { 'content-type': 'text/event-stream' }).end(requests.join(''))
    })
    await expect(call(connection)).rejects.toThrow('sent more than 100 requests in one response')
    await until(() => seen.answers === 100)
    // At most four answers and the call itself are in flight at once.
    expect(seen.mostOpen).toBeLessThanOrEqual(5)
  },
)

test('a response with more than 100 requests in one list fails the call, and no request is answered', async () => {
  const { connection, seen } = await connect(({ id, method }, response) => {
    if (!isCall(method)) return acknowledge(response)
    const requests = Array.from({ length: 200 }, (_, n) => ({ jsonrpc: '2.0', id: `p${n}`, method: 'ping' }))
    const all = [...requests, { jsonrpc: '2.0', id, result: RESULT }]
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(all))
  })
  await expect(call(connection)).rejects.toThrow('sent more than 100 requests in one response')
  expect(seen.answers).toBe(0)
})

test('answers that a server never acknowledges do not block other calls and lists', async () => {
  const { connection, seen } = await connect(({ id, method }, response) => {
    if (method === 'tools/list') return reply(response, { id: id ?? 0, method }, { tools: [] })
    if (!isCall(method)) return undefined
    const pings = Array.from({ length: 50 }, (_, n) => event({ id: `p${n}`, method: 'ping' }))
    return response
      .writeHead(200, { 'content-type': 'text/event-stream' })
      .end(pings.join('') + event({ id, result: RESULT }))
  })
  for (let n = 0; n < 10; n++) expect(await call(connection)).toMatchObject(RESULT)
  expect(await connection.list()).toEqual({ tools: [], refused: [] })
  expect(seen.answers).toBeLessThanOrEqual(4)
})

test('the client closes a call’s stream after the result arrives, even if the server never does', async () => {
  const { connection, seen } = await connect(({ id }, response) =>
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(event({ id, result: RESULT })),
  )
  for (let n = 0; n < 10; n++) expect(await call(connection)).toMatchObject(RESULT)
  await until(() => seen.open === 0)
  expect(seen.mostOpen).toBeLessThanOrEqual(2)
})

test('a server that forgets its sessions has at most one open notification stream, however many calls fail', async () => {
  const { connection, seen } = await connect((_message, response) => response.writeHead(404).end(), {
    stream: () => undefined,
  })
  for (let n = 0; n < 10; n++) await expect(call(connection)).rejects.toThrow()
  await until(() => seen.streams <= 1)
})

/** Creates a clock whose sleeps end when the test ends them. */
function handedClock() {
  const waits: number[] = []
  const ends: (() => void)[] = []
  const clock: Clock = {
    now: () => Date.now(),
    sleep: (milliseconds, signal) =>
      new Promise((resolve, reject) => {
        waits.push(milliseconds)
        ends.push(resolve)
        if (signal?.aborted === true) reject(signal.reason as Error)
        signal?.addEventListener('abort', () => reject(signal.reason as Error))
      }),
  }
  return { clock, waits, end: () => ends.splice(0).forEach((resolve) => resolve()) }
}

test('a notification stream that its server ends repeatedly is reopened with growing delays', async () => {
  const { clock, waits, end } = handedClock()
  let streams = 0
  const stream = (response: ServerResponse): void => {
    streams++
    response.end('retry: 0\n\n')
  }
  const { connection } = await connect((message, response) => reply(response, message, { tools: [] }), {
    clock,
    stream,
  })
  await connection.list()
  for (let n = 1; n <= 10; n++) {
    await until(() => waits.length === n)
    expect(streams).toBe(n)
    end()
  }
  expect(waits.slice(0, 10)).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
})

test('the stream of an abandoned call is not opened again', async () => {
  const { clock, waits, end } = handedClock()
  let streams = 0
  const { connection } = await connect(
    (_message, response) =>
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end('retry: 0\nid: 1\ndata:\n\n'),
    { clock, stream: () => void streams++ },
  )
  const given = new AbortController()
  const calling = call(connection, 'default', given.signal)
  await until(() => waits.length === 1 && streams === 1)
  given.abort(new Error('given up'))
  await expect(calling).rejects.toThrow()
  end()
  await call(connection, 'default', AbortSignal.timeout(50)).catch(() => undefined)
  // Only the stream of changes is open.
  expect(streams).toBe(1)
})

test('at most 128 calls are open at once, and free slots are given to the tenants in turn', async () => {
  const open: (() => void)[] = []
  const { connection, seen } = await connect((message, response) => open.push(() => reply(response, message, RESULT)))
  const ended: string[] = []
  const begin = (tenant: string): Promise<unknown> => call(connection, tenant).then(() => ended.push(tenant))
  const calls = Array.from({ length: 160 }, () => begin('busy'))
  await until(() => open.length === 128)
  calls.push(begin('other'))
  for (const end of open.splice(0, 2)) end()
  await until(() => open.length === 128)
  while (ended.length < calls.length) {
    for (const end of open.splice(0)) end()
    await until(() => open.length > 0 || ended.length === calls.length)
    if (ended.includes('other')) expect(ended.length).toBeGreaterThan(1)
  }
  await Promise.all(calls)
  expect(seen.mostOpen).toBe(128)
  expect(ended.indexOf('other')).toBeLessThan(140)
})

test('a server that constantly announces changes gets one list request at a time', async () => {
  const streams: ServerResponse[] = []
  const { connection, seen } = await connect(
    (message, response) => void setTimeout(() => reply(response, message, { tools: [] }), 20),
    {
      stream: (response) => void streams.push(response),
    },
  )
  await connection.list()
  await until(() => streams.length === 1)
  const lists: Promise<unknown>[] = []
  for (let n = 0; n < 30; n++) {
    streams[0]?.write(event({ method: 'notifications/tools/list_changed' }))
    await system.sleep(2)
    lists.push(connection.list())
  }
  await Promise.all(lists)
  expect(seen.mostLists).toBe(1)
})
