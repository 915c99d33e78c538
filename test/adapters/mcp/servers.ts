import { getRequestListener } from '@hono/node-server'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createConnection } from '../../../functions/adapters/mcp/connection.ts'
import type { McpConnection } from '../../../functions/adapters/mcp/connection.ts'
import type { ConnectionSettings } from '../../../functions/adapters/mcp/open-client.ts'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import type { McpServer as McpServerSettings } from '../../../functions/domain/agent.ts'

export interface RunningServer {
  readonly url: string
  /** `host:port`, for `allowedHosts`. */
  readonly host: string
  close(): Promise<void>
}

/** Starts a server on a free port of this machine. */
export async function listen(listener: RequestListener): Promise<RunningServer> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: `http://${host}/mcp`,
    host,
    async close() {
      server.closeAllConnections()
      if (!server.listening) return
      server.close()
      await once(server, 'close')
    },
  }
}

/**
 * Starts a server made with the official package. For each request, the server calls `register`, which adds the tools.
 */
export async function startMcpServer(
  register: (server: McpServer) => void,
  seen: (headers: Headers, body: string) => void = () => undefined,
): Promise<RunningServer & { announceChange(): void }> {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'test', version: '1' })
    register(server)
    return server
  })
  const fetch = async (request: Request): Promise<Response> => {
    seen(request.headers, await request.clone().text())
    return handler.fetch(request)
  }
  const running = await listen(getRequestListener(fetch) as RequestListener)
  return { ...running, announceChange: () => handler.notify.toolsChanged() }
}

interface Message {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly name?: string; readonly cursor?: string; readonly protocolVersion?: string }
}
/** Responds to a message. `text`: the message as it was sent. */
export type Respond = (message: Message, response: ServerResponse, request: IncomingMessage, text?: string) => unknown

/**
 * Starts a server of the revision 2025-11-25. The server handles the initialization itself and passes all other messages to
 * `respond`. `stream` responds to GET requests, which open an event stream; by default, they are refused. `introduction`
 * overrides fields of the response to `initialize`.
 */
export function startRawServer(
  respond: Respond,
  stream?: (response: ServerResponse) => void,
  introduction: object = {},
): Promise<RunningServer> {
  return listen((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (request.method === 'GET' && stream !== undefined) {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
        return stream(response)
      }
      if (request.method !== 'POST') return void response.writeHead(405).end()
      const text = Buffer.concat(chunks).toString()
      const message = JSON.parse(text) as Message
      if (message.method === 'initialize')
        return reply(response, message, {
          protocolVersion: message.params?.protocolVersion ?? '2025-11-25',
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: 'raw', version: '1' },
          ...introduction,
        })
      if (message.method === 'server/discover')
        return void response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'Method not found' } }))
      if (message.id === undefined) return void response.writeHead(202).end()
      return respond(message, response, request, text)
    })
  })
}

/** Sends the result of a request as JSON. */
export function reply(response: ServerResponse, { id }: Message, result: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, result }))
}

export const serverAt = (url: string, more: Partial<McpServerSettings> = {}): McpServerSettings => ({
  name: 'test',
  url,
  headers: {},
  needsApproval: [],
  idempotent: [],
  timeoutMs: 20_000,
  ...more,
})

/** Creates connections to servers on this machine, as the program does. */
export function connector(...hosts: string[]): (server: McpServerSettings) => McpConnection {
  return connectorWith({ allowedHosts: hosts })
}

export function connectorWith(
  more: Pick<ConnectionSettings, 'allowedHosts' | 'lookup' | 'listMs'> & Partial<Pick<ConnectionSettings, 'clock'>>,
): (server: McpServerSettings) => McpConnection {
  const open = new Map<string, McpConnection>()
  return ({ url, headers, timeoutMs }) => {
    const made =
      open.get(url) ??
      createConnection({
        url,
        headers: async () => headers,
        longestMs: timeoutMs,
        version: '1',
        clock: createSystemClock(),
        ...more,
      })
    open.set(url, made)
    return made
  }
}
