import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ProxiedRequest {
  readonly method: string
  readonly path: string
  readonly body: string
}

/** Outcome of a request: passed on, refused by the proxy, or executed with its response lost. */
export type Fate = 'pass' | { readonly status: number; readonly body?: string } | 'lose the response'

export interface Proxy {
  readonly endpoint: string
  /** All requests so far. */
  readonly requests: readonly ProxiedRequest[]
  /** Sets the function that decides the outcome of later requests. */
  decide(fate: (request: ProxiedRequest) => Fate): void
  /** Stops the proxy: later connections are refused. */
  close(): Promise<void>
}

/** Starts a proxy between a client and an engine. */
export async function startProxy(target: string): Promise<Proxy> {
  const requests: ProxiedRequest[] = []
  let fate: (request: ProxiedRequest) => Fate = () => 'pass'

  const respond = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const request = { method: incoming.method ?? '', path: incoming.url ?? '', body: body.toString() }
    requests.push(request)
    const decided = fate(request)
    if (typeof decided === 'object') {
      outgoing
        .writeHead(decided.status, { 'content-type': 'application/json' })
        .end(decided.body ?? '{"error":"injected"}')
      return
    }
    const passed = await forward(target, request, body, incoming.headers['content-type'])
    if (decided === 'lose the response') outgoing.destroy()
    else outgoing.writeHead(passed.status, { 'content-type': 'application/json' }).end(passed.body)
  }
  const server = createServer((incoming, outgoing) => {
    respond(incoming, outgoing).catch((error: unknown) => outgoing.destroy(error instanceof Error ? error : undefined))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    decide: (decision) => void (fate = decision),
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Forwards a request. `fetch` cannot send a GET with a body, so it is sent as POST. OpenSearch accepts both methods. */
async function forward(
  target: string,
  { method, path }: ProxiedRequest,
  body: Buffer,
  type = 'application/json',
): Promise<{ status: number; body: Buffer }> {
  const withBody = body.length > 0
  const response = await fetch(`${target}${path}`, {
    method: withBody && method === 'GET' ? 'POST' : method,
    headers: { 'content-type': type },
    ...(withBody ? { body } : {}),
  })
  return { status: response.status, body: Buffer.from(await response.arrayBuffer()) }
}
