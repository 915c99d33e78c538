import { getRequestListener } from '@hono/node-server'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { unreadableRequest } from '../../http/middleware/error-response.ts'
import type { Settings } from '../config.ts'
import { SettingsError } from '../config.ts'

/** Longer than clients and load balancers keep idle connections, so that none is closed just as it is used again. */
const KEEP_ALIVE_MS = 65_000

/** A whole request must have come in by then. A client that sends slower is cut off. */
const REQUEST_MS = 120_000
const HEADERS_MS = 20_000
/** A response of which a client has taken nothing for so long is cut off: it may ask again for what is left. */
const UNREAD_MS = 60_000
const LOOK_MS = 5_000
/** More connections than this are refused at once. */
const MOST_CONNECTIONS = 4_096

export interface HttpServer {
  readonly url: string
  /** Takes no more connections; resolves when nobody waits for a response or the rest of one. */
  drain(): Promise<void>
  /** After `drain`: cuts the connections that are left, and resolves when they are closed. */
  close(): Promise<void>
}

/** Serves HTTP with `fetch` once this resolves. Rejects with `SettingsError` when it cannot listen there. */
export async function serveHttp(
  fetch: Parameters<typeof getRequestListener>[0],
  { port, host }: Pick<Settings, 'port' | 'host'>,
): Promise<HttpServer> {
  const answer = getRequestListener(fetch, { hostname: host, errorHandler: unreadableRequest })
  const answering = new Map<ServerResponse, Taken>()
  const server = createServer({ requestTimeout: REQUEST_MS, headersTimeout: HEADERS_MS }, (request, response) => {
    answering.set(response, { left: 0, since: Date.now() })
    response.once('close', () => answering.delete(response))
    void answer(request, response)
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  server.maxConnections = MOST_CONNECTIONS
  const looking = setInterval(() => cutUnread(answering, Date.now()), LOOK_MS).unref()
  server.once('close', () => clearInterval(looking))
  const closed = new Promise<void>((resolve) => server.once('close', () => resolve()))
  await listen(server, port, host)
  return {
    url: urlOf(server, host),
    async drain() {
      server.close()
      while (answering.size > 0) await Promise.all([...answering.keys()].map((response) => once(response, 'close')))
    },
    close() {
      server.closeAllConnections()
      return closed
    },
  }
}

/** Bytes of a response that its client had not taken, and since when. */
interface Taken {
  readonly left: number
  readonly since: number
}

function cutUnread(answering: Map<ServerResponse, Taken>, now: number): void {
  for (const [response, before] of answering) {
    const left = response.writableLength + (response.socket?.writableLength ?? 0)
    if (left === 0 || left !== before.left) answering.set(response, { left, since: now })
    else if (now - before.since >= UNREAD_MS) response.destroy()
  }
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(new SettingsError(`PORT, HOST: ${error.message}`)))
    server.listen(port, host, resolve)
  })
}

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
