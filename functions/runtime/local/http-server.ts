import { getRequestListener } from '@hono/node-server'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { unreadableRequest } from '../../http/middleware/error-response.ts'
import { createConnections } from './connections.ts'
import type { Settings } from '../settings/config.ts'
import { SettingsError } from '../settings/settings-error.ts'

/**
 * The server keeps an idle connection for this time. Clients and load balancers keep it for less time, so the server
 * does not close a connection that is being reused.
 */
const KEEP_ALIVE_MS = 65_000

/** A request must arrive completely within this time, or its connection is closed. */
const REQUEST_MS = 120_000
const HEADERS_MS = 20_000
/**
 * A response is aborted if its client reads nothing for this time. The client can then request the remaining events.
 * The kernel buffers up to some megabytes, so the reads of a slow client may be invisible for minutes
 * (`docs/assurance/runs.md`).
 */
const UNREAD_MS = 600_000
/**
 * Time limit that replaces `UNREAD_MS` while many bytes are unread, or while half of the allowed connections are open.
 */
const CROWDED_UNREAD_MS = 60_000
const POLL_INTERVAL_MS = 5_000
/**
 * Bytes buffered per client in addition to the kernel's buffers. While the buffer is full, no more is read from the
 * response.
 */
const WAITING = 16 * 1024
/** Maximum number of open connections, in total and per address. */
const MAX_CONNECTIONS = 4_096
const MAX_CONNECTIONS_OF_ADDRESS = 2_048

export interface HttpServer {
  readonly url: string
  /** Stops accepting connections. Resolves when every response has ended. */
  drain(): Promise<void>
  /** Closes the remaining connections after `drain`, and resolves when they are closed. */
  close(): Promise<void>
}

/**
 * Serves HTTP with `fetch`, and resolves when the server listens. While `isCrowded`, clients that do not read are
 * disconnected sooner. Rejects with `SettingsError` if the server cannot listen at the address.
 */
export async function serveHttp(
  fetch: Parameters<typeof getRequestListener>[0],
  { port, host }: Pick<Settings, 'port' | 'host'>,
  isCrowded: () => boolean,
): Promise<HttpServer> {
  const respond = getRequestListener(fetch, { hostname: host, errorHandler: unreadableRequest })
  const open = new Map<ServerResponse, Progress>()
  const limits = { requestTimeout: REQUEST_MS, headersTimeout: HEADERS_MS, highWaterMark: WAITING }
  const connections = createConnections({ maxConnections: MAX_CONNECTIONS, maxOfAddress: MAX_CONNECTIONS_OF_ADDRESS })
  const server = createServer(limits, (request, response) => {
    const end = connections.begin(request.socket)
    open.set(response, { taken: 0, since: Date.now() })
    response.once('close', () => {
      open.delete(response)
      end()
    })
    void respond(request, response)
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  server.on('connection', connections.add)
  const poll = (): void => {
    const crowded = open.size > MAX_CONNECTIONS / 2 || isCrowded()
    connections.cutSilent(Date.now())
    cutUnread(open, Date.now(), crowded ? CROWDED_UNREAD_MS : UNREAD_MS)
  }
  const pollTimer = setInterval(poll, POLL_INTERVAL_MS).unref()
  server.once('close', () => clearInterval(pollTimer))
  const closed = new Promise<void>((resolve) => server.once('close', () => resolve()))
  await listen(server, port, host)
  return {
    url: urlOf(server, host),
    async drain() {
      server.close()
      while (open.size > 0) await Promise.all([...open.keys()].map((response) => once(response, 'close')))
    },
    close() {
      server.closeAllConnections()
      return closed
    },
  }
}

/**
 * `taken`: the number of bytes of a response that the kernel has accepted. `since`: time of the last check at which
 * `taken` had changed or no bytes were pending.
 */
interface Progress {
  readonly taken: number
  readonly since: number
}

function cutUnread(open: Map<ServerResponse, Progress>, now: number, limitMs: number): void {
  for (const [response, before] of open) {
    const { socket } = response
    // A response without a socket waits for the previous response on its connection.
    const taken = socket === null ? 0 : socket.bytesWritten - socket.writableLength
    const isStuck = socket !== null && response.writableLength > 0 && taken === before.taken
    if (!isStuck) open.set(response, { taken, since: now })
    else if (now - before.since >= limitMs) response.destroy()
  }
}

const nextStep = (error: NodeJS.ErrnoException): string =>
  error.code === 'EADDRINUSE' ? '. Set another PORT, or 0 for any free one' : ''

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(new SettingsError(`PORT, HOST: ${error.message}${nextStep(error)}`)))
    // If more connections wait than the backlog allows, the kernel drops connection attempts. Clients retry them only
    // after a second or more.
    server.listen({ port, host, backlog: MAX_CONNECTIONS }, resolve)
  })
}

function urlOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
