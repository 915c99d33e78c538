import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const VERSION = '/2018-06-01/runtime'
/** Limit of an event, and of a response that is not streamed. */
export const MAX_PAYLOAD_BYTES = 6 * 1024 * 1024

/** Outcome of an invocation. */
export type Outcome =
  | { readonly ok: true; readonly body: Buffer }
  | { readonly ok: false; readonly errorType: string; readonly message: string }

/** Receiver of a streamed response, called while it arrives. */
export interface ResponseSink {
  start(contentType: string): void
  chunk(bytes: Buffer): void
}

export interface Invocation {
  readonly id: string
  readonly event: string
  readonly arn: string
  readonly deadline: number
  readonly sink: ResponseSink | undefined
}

export interface RuntimeApi {
  readonly address: string
  /** Passes an invocation to the runtime, which must have requested one. */
  give(invocation: Invocation): void
  stop(): Promise<void>
}

interface Listener {
  /** Called when the runtime requests work, so its last invocation has ended. */
  idle(): void
  outcome(id: string, outcome: Outcome): void
  initFailed(message: string): void
}

/** Starts the Runtime API of one Lambda execution environment. */
export async function startRuntimeApi(listener: Listener): Promise<RuntimeApi> {
  let waiting: ServerResponse | undefined
  let current: Invocation | undefined

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  })
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.slice(VERSION.length) ?? ''
    if (path === '/invocation/next') {
      waiting = response
      current = undefined
      listener.idle()
      return
    }
    if (path === '/init/error') listener.initFailed((await bodyOf(request)).toString())
    const [, id, kind] = /^\/invocation\/([^/]+)\/(response|error)$/.exec(path) ?? []
    if (id !== undefined && id === current?.id) {
      if (kind === 'error') listener.outcome(id, failure((await bodyOf(request)).toString()))
      else if (request.headers['lambda-runtime-function-response-mode'] === 'streaming')
        listener.outcome(id, await streamed(request, current.sink))
      else listener.outcome(id, buffered(await bodyOf(request)))
    }
    response.writeHead(202, { 'content-type': 'application/json' }).end('{"status":"OK"}')
  }

  // A frozen process keeps its connection open.
  server.keepAliveTimeout = 0
  server.requestTimeout = 0
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    give(invocation) {
      if (waiting === undefined) throw new Error('the runtime did not ask for an invocation')
      current = invocation
      waiting.writeHead(200, {
        'content-type': 'application/json',
        'lambda-runtime-aws-request-id': invocation.id,
        'lambda-runtime-deadline-ms': String(invocation.deadline),
        'lambda-runtime-invoked-function-arn': invocation.arn,
        'lambda-runtime-trace-id': `Root=1-${invocation.id.slice(0, 8)}-${invocation.id.replaceAll('-', '').slice(8)}`,
      })
      waiting.end(invocation.event)
      waiting = undefined
    },
    async stop() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Passes chunks on as they arrive. The trailers contain an error that occurred after the first chunk. */
async function streamed(request: IncomingMessage, sink: ResponseSink | undefined): Promise<Outcome> {
  sink?.start(request.headers['content-type'] ?? '')
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    sink?.chunk(chunk)
  }
  const errorType = request.trailers['lambda-runtime-function-error-type']
  if (errorType === undefined) return { ok: true, body: Buffer.concat(chunks) }
  const body = Buffer.from(request.trailers['lambda-runtime-function-error-body'] ?? '', 'base64').toString()
  return { ok: false, errorType, message: body }
}

function buffered(body: Buffer): Outcome {
  if (body.byteLength <= MAX_PAYLOAD_BYTES) return { ok: true, body }
  return { ok: false, errorType: 'Function.ResponseSizeTooLarge', message: `${body.byteLength} bytes` }
}

function failure(text: string): Outcome {
  const { errorType = 'Error', errorMessage = '' } = JSON.parse(text) as { errorType?: string; errorMessage?: string }
  return { ok: false, errorType, message: errorMessage }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}
