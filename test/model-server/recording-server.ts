import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { yieldToEventLoop } from '../../functions/domain/time/yield-to-event-loop.ts'

/** Request that a model server received, byte for byte. */
export interface RecordedRequest {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface Reply {
  /** Default: 200. */
  readonly status?: number
  readonly headers?: { readonly [name: string]: string }
  /** Each frame is written and flushed separately. */
  readonly frames: readonly (string | Uint8Array)[]
  /** Action after the frames: end the body (default), break the connection, or stay silent until the client disconnects. */
  readonly end?: 'close' | 'break' | 'hang'
}

export interface RecordingServer {
  /** The server's URL, without a slash at the end. */
  readonly url: string
  readonly requests: readonly RecordedRequest[]
  close(): Promise<void>
}

/** Starts a local HTTP server that records each request and sends the reply of `replyTo`. `index` counts requests from 0. */
export async function startRecordingServer(
  replyTo: (request: RecordedRequest, index: number) => Reply | Promise<Reply>,
): Promise<RecordingServer> {
  const requests: RecordedRequest[] = []
  const server = createServer((request, response) => {
    record(request)
      .then((recorded) => replyTo(recorded, requests.push(recorded) - 1))
      .then((reply) => send(response, reply))
      .catch((error: unknown) => response.destroy(error as Error))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function record(request: IncomingMessage): Promise<RecordedRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return { path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks).toString('utf8') }
}

async function send(response: ServerResponse, reply: Reply): Promise<void> {
  response.writeHead(reply.status ?? 200, reply.headers)
  response.flushHeaders()
  for (const frame of reply.frames) {
    if (response.destroyed) return
    response.write(frame)
    await yieldToEventLoop()
  }
  if (reply.end === 'break') response.destroy()
  else if (reply.end !== 'hang') response.end()
}
