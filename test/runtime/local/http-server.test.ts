/* Evidence, limits: A slow client gets its whole response. A client that reads nothing is disconnected after ten minutes. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { bodyOf, createSharedBytes } from '../../../functions/http/streaming/response-bodies.ts'
import { PIECE } from '../../../functions/http/streaming/sequential-bodies.ts'
import { serveHttp } from '../../../functions/runtime/local/http-server.ts'
import type { HttpServer } from '../../../functions/runtime/local/http-server.ts'

let server: HttpServer | undefined
afterEach(async () => {
  vi.useRealTimers()
  void server?.drain()
  await server?.close()
  server = undefined
})

const HERE = { port: 0, host: '127.0.0.1' }
const notCrowded = (): boolean => false

/** Starts a server whose responses begin at once and end when the test calls `end`. */
async function serveSlowly() {
  const asked = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  server = await serveHttp(
    () => {
      asked.resolve()
      const body = new ReadableStream<Uint8Array>({
        async start(controller) {
          controller.enqueue(Buffer.from('the beginning'))
          await end.promise
          controller.enqueue(Buffer.from(' and the end'))
          controller.close()
        },
      })
      return new Response(body)
    },
    HERE,
    notCrowded,
  )
  return { ...server, asked: asked.promise, end: () => end.resolve() }
}

test('a draining server completes the responses in flight, and accepts no more connections', async () => {
  const { url, drain, close, asked, end } = await serveSlowly()
  const response = fetch(url).then((response) => response.text())
  await asked
  let isDrained = false
  const drained = drain().then(() => (isDrained = true))
  await expect(fetch(url)).rejects.toThrow('fetch failed')
  expect(isDrained).toBe(false)
  end()
  await drained
  expect(await response).toBe('the beginning and the end')
  await close()
})

test('a draining server closes idle connections and does not wait for them', async () => {
  const { url, drain, close } = await serveSlowly()
  const silent = connect(Number(new URL(url).port), '127.0.0.1').resume()
  await once(silent, 'connect')
  await drain()
  expect(silent.closed).toBe(false)
  await Promise.all([once(silent, 'close'), close()])
})

test('a draining server does not wait for a disconnected client, and can abort a slow response', async () => {
  const { url, drain, close, asked } = await serveSlowly()
  const left = new AbortController()
  const bodies = [fetch(url, { signal: left.signal }), fetch(url)].map(async (response) => (await response).text())
  const results = Promise.allSettled(bodies)
  await asked
  await sleep(50)
  left.abort()
  const drained = drain()
  await close()
  await drained
  expect((await results).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
})

/**
 * Opens a client that sends this many requests at once and reads nothing. Resolves when the buffers of the first response are
 * full.
 */
async function unreadBy(respond: () => Response, { isCrowded = notCrowded, requests = 1 } = {}) {
  const responses: ServerResponse[] = []
  const asked = Promise.withResolvers<void>()
  const take = (message: unknown): void => {
    responses.push((message as { response: ServerResponse }).response)
    if (responses.length === requests) asked.resolve()
  }
  subscribe('http.server.request.start', take)
  server = await serveHttp(respond, HERE, isCrowded)
  const { port } = new URL(server.url)
  const client = connect(Number(port), '127.0.0.1').pause()
  client.write(`GET / HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n\r\n`.repeat(requests))
  await asked.promise
  unsubscribe('http.server.request.start', take)
  const [response] = responses
  if (response === undefined) throw new Error('nothing was asked')
  await stuck(response)
  return { client, response, responses }
}

/** Resolves when the system's buffers are full. */
async function stuck(response: ServerResponse): Promise<void> {
  const sent = (): number => response.socket?.bytesWritten ?? 0
  for (let before = -1, same = 0; same < 5; before = sent()) {
    await sleep(50)
    same = response.writableLength > 0 && sent() === before ? same + 1 : 0
  }
}

/** An endless body, in chunks of this many bytes. */
const endless = (bytes: number): Response =>
  new Response(
    new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(bytes)) }, { highWaterMark: 0 }),
  )

test('the bytes that the program buffers for a client that does not read are bounded', async () => {
  const shared = createSharedBytes().of('acme')
  // More bytes than the buffers of a connection hold.
  const text = Buffer.alloc(60_000_000, 'x')
  const { client, response } = await unreadBy(() => new Response(bodyOf(shared.pieces(text))))
  const waiting = response.writableLength
  expect(waiting).toBeGreaterThan(0)
  expect(waiting).toBeLessThan(4 * PIECE)
  client.destroy()
})

/** Advances the clock by minutes, one server check at a time. */
const pass = (minutes: number): Promise<unknown> => vi.advanceTimersByTimeAsync(minutes * 60_000)
/** Replaces the clock of the server's checks. The rest of the server uses the real clock. */
const fakeLooks = () => vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'Date'] })

test.each([
  ['ten minutes', false, 9.8],
  ['a minute while many bytes are unread', true, 0.8],
])('a response whose client reads nothing is aborted after %s', async (_, crowded, before) => {
  fakeLooks()
  const { client, response } = await unreadBy(() => endless(PIECE), { isCrowded: () => crowded })
  await pass(before)
  expect(response.destroyed).toBe(false)
  await pass(0.4)
  expect(response.destroyed).toBe(true)
  client.destroy()
})

test.each([PIECE, 512 * 1024])(
  'a client that reads steadily loses neither a response in chunks of %i bytes nor the next one',
  async (bytes) => {
    fakeLooks()
    const { client, response, responses } = await unreadBy(() => endless(bytes), { requests: 2 })
    for (let minutes = 0; minutes < 30; minutes += 5) {
      await readUntilMoreIsTaken(client, response)
      await pass(5)
      expect(responses.map(({ destroyed }) => destroyed)).toEqual([false, false])
    }
    client.destroy()
  },
)

/** Lets the client read until the server has written more and the buffers are full again. */
async function readUntilMoreIsTaken(client: Socket, response: ServerResponse): Promise<void> {
  const before = response.socket?.bytesWritten
  while (response.socket?.bytesWritten === before) {
    client.read()
    await sleep(5)
  }
  await stuck(response)
}
