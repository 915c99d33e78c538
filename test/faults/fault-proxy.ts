import { once } from 'node:events'
import { createServer, request as forward } from 'node:http'
import type { IncomingHttpHeaders, ServerResponse } from 'node:http'

/** Request that a client sent. */
export interface ProxiedRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** A fault between a client and an engine: before the engine has received the request, or after it has acted. */
export interface Fault {
  readonly at: 'before' | 'after'
  readonly does:
    | { readonly kind: 'respond'; readonly status: number; readonly body: string; readonly type: string }
    /** The connection ends without a response. */
    | { readonly kind: 'cut' }
    /** No response, until the client's time limit. */
    | { readonly kind: 'silence' }
}

type Choice = (request: ProxiedRequest) => Fault | undefined | Promise<Fault | undefined>

export interface FaultProxy {
  readonly endpoint: string
  /** Selects the fault of each later request. */
  decide(choose: Choice): void
  /** Requests that were received and have no response yet. */
  inFlight(): readonly ProxiedRequest[]
  stop(): Promise<void>
}

interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** Starts a proxy between a client and an engine. It forwards everything unchanged, except where `decide` selects a fault. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  let choose: Choice = () => undefined
  const inFlight = new Set<ProxiedRequest>()
  const server = createServer((incoming, response) => {
    const handle = async (): Promise<void> => {
      const { method = 'GET', url: path = '/', headers } = incoming
      const sent = { method, path, headers, body: await bodyOf(incoming) }
      inFlight.add(sent)
      response.once('close', () => inFlight.delete(sent))
      const fault = await choose(sent)
      if (fault?.at === 'before') return fail(response, fault)
      const reply = await ask(target, sent)
      if (fault !== undefined) return fail(response, fault)
      response.writeHead(reply.status, reply.headers)
      response.end(reply.body)
    }
    handle().catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port')
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    decide: (next) => void (choose = next),
    inFlight: () => [...inFlight],
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function fail(response: ServerResponse, { does }: Fault): void {
  if (does.kind === 'cut') response.destroy()
  if (does.kind !== 'respond') return
  response.writeHead(does.status, { 'content-type': does.type })
  response.end(does.body)
}

async function ask(target: string, { method, path, headers, body }: ProxiedRequest): Promise<Reply> {
  const { hostname, port } = new URL(target)
  // The client's host header is forwarded unchanged, because signatures cover the header.
  const outgoing = forward({ hostname, port, method, path, headers })
  outgoing.end(body)
  const [incoming] = (await once(outgoing, 'response')) as [
    Parameters<typeof bodyOf>[0] & Reply & { statusCode?: number },
  ]
  return { status: incoming.statusCode ?? 500, headers: incoming.headers, body: await bodyOf(incoming) }
}

async function bodyOf(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks)
}
