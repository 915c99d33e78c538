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
  const answering = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    answering.add(response)
    response.once('close', () => answering.delete(response))
    void answer(request, response)
  })
  server.keepAliveTimeout = KEEP_ALIVE_MS
  const closed = new Promise<void>((resolve) => server.once('close', () => resolve()))
  await listen(server, port, host)
  return {
    url: urlOf(server, host),
    async drain() {
      server.close()
      while (answering.size > 0) await Promise.all([...answering].map((response) => once(response, 'close')))
    },
    close() {
      server.closeAllConnections()
      return closed
    },
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
