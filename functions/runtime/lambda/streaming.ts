import { once } from 'node:events'
import type { Writable } from 'node:stream'
import type { APIGatewayProxyEvent, Context } from 'aws-lambda'
import { unreadableRequest } from '../../http/middleware/error-response.ts'
import { placeOf, requestOf } from './proxy-event.ts'

/** A handler of streamed responses. Lambda provides the stream. */
export type StreamingHandler = (event: APIGatewayProxyEvent, stream: Writable, context: Context) => Promise<void>

/** Returns the response to one request. `base` is the part of the caller's address that precedes the app's paths. */
export type Respond = (request: Request, base: string, context: Context) => Promise<Response>

/**
 * A response is aborted if its caller reads less than one chunk in this time. API Gateway ends a stalled stream after
 * an equal time (https://docs.aws.amazon.com/apigateway/latest/developerguide/response-transfer-mode.html).
 */
const UNREAD_MS = 300_000
/** Bytes per write. A stream emits `drain` only after everything written to it was read. */
const PIECE = 64 * 1024

interface Prelude {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>
  readonly cookies: readonly string[]
}

interface LambdaGlobal {
  readonly streamifyResponse?: (handler: StreamingHandler) => StreamingHandler
  /**
   * Adds status and headers to the stream. They are sent with the first write, and never sent if nothing is written.
   */
  readonly HttpResponseStream: { from(stream: Writable, prelude: Prelude): Writable }
}

/**
 * Creates the Lambda handler that streams the response of `respond`. Each invocation runs within `around`. Only this
 * module uses Lambda's global. Without the global, as in a test, the module still loads, and the handler rejects.
 *
 * The handler rejects if a body fails or its caller stops reading. Lambda then aborts the response too, because a
 * partial response must not look complete.
 */
export function createStreamingHandler(
  respond: Respond,
  around: (context: Context, work: () => Promise<void>) => Promise<void>,
): StreamingHandler {
  // AWS packages define the global if it is missing, but without the streaming function.
  const lambda = (globalThis as unknown as { awslambda?: LambdaGlobal }).awslambda
  if (lambda?.streamifyResponse === undefined)
    return () => Promise.reject(new Error('this handler runs on Lambda only: no awslambda'))
  return lambda.streamifyResponse((event, stream, context) =>
    around(context, async () => send(lambda, stream, await responseTo(event, context, respond))),
  )
}

async function responseTo(event: APIGatewayProxyEvent, context: Context, respond: Respond): Promise<Response> {
  const { base, path } = placeOf(event)
  let request: Request
  try {
    request = requestOf(event, path)
  } catch (error) {
    return unreadableRequest(error)
  }
  return withBase(await respond(request, base, context), base)
}

async function send({ HttpResponseStream }: LambdaGlobal, stream: Writable, response: Response): Promise<void> {
  const { status: statusCode, headers } = response
  const body: ReadableStream<Uint8Array> | null = response.body
  const cookies = headers.getSetCookie()
  const others = Object.fromEntries([...headers].filter(([name]) => name !== 'set-cookie'))
  const out = HttpResponseStream.from(stream, { statusCode, headers: others, cookies })
  // An empty write sends status and headers. Without any write, the gateway would respond with status 500.
  out.write('')
  for await (const bytes of body ?? [])
    for (let at = 0; at < bytes.length; at += PIECE) {
      if (!out.write(bytes.subarray(at, at + PIECE))) await drained(out)
      if (out.destroyed) throw new Error('the response was closed before its end')
    }
  out.end()
}

/**
 * Waits until the stream drains or closes. Rejects if the stream stalls. Otherwise, the function would wait until it
 * times out.
 */
async function drained(stream: Writable): Promise<void> {
  if (stream.destroyed) return
  const either = new AbortController()
  const options = { signal: either.signal }
  const late = setTimeout(() => either.abort(), UNREAD_MS)
  try {
    await Promise.race([once(stream, 'drain', options), once(stream, 'close', options)])
  } catch (cause) {
    if (!either.signal.aborted) throw cause
    const what = `less than ${PIECE / 1_024} KB of the response in ${UNREAD_MS / 60_000} minutes`
    throw new Error(`the caller has taken ${what}`, { cause })
  } finally {
    clearTimeout(late)
    either.abort()
  }
}

/** Prefixes the `Location` header with the base. The app writes the location relative to its own root. */
function withBase(response: Response, base: string): Response {
  const location = response.headers.get('location')
  if (base !== '' && location?.startsWith('/') === true) response.headers.set('location', base + location)
  return response
}
