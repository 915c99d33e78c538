import { once } from 'node:events'
import type { Writable } from 'node:stream'
import type { APIGatewayProxyEvent, Context } from 'aws-lambda'
import { unreadableRequest } from '../../http/middleware/error-response.ts'
import { placeOf, requestOf } from './proxy-event.ts'

/** Lambda's handler of streamed responses; its stream is Lambda's own. */
export type StreamingHandler = (event: APIGatewayProxyEvent, stream: Writable, context: Context) => Promise<void>

/** Returns the response to one request; `base` precedes the app's paths in the address that the caller used. */
export type Respond = (request: Request, base: string, context: Context) => Promise<Response>

/**
 * A response breaks off if less than a piece is seen to be taken of it in so many milliseconds: API Gateway ends a stream that
 * stands still for as long (https://docs.aws.amazon.com/apigateway/latest/developerguide/response-transfer-mode.html).
 */
const UNREAD_MS = 300_000
/** Bytes written at a time: a stream says that it takes more only once all that was written to it is gone. */
const PIECE = 64 * 1024

interface Prelude {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>
  readonly cookies: readonly string[]
}

interface LambdaGlobal {
  readonly streamifyResponse?: (handler: StreamingHandler) => StreamingHandler
  /** The same stream, which sends status and headers with its first write, and never without one. */
  readonly HttpResponseStream: { from(stream: Writable, prelude: Prelude): Writable }
}

/**
 * The Lambda handler that streams what `respond` returns, each invocation within `around`. Only this module knows
 * Lambda's global; without it, as in a test, the module loads and its handler rejects. Rejects if a body breaks
 * off, or its caller reads no more, so that Lambda breaks off the response too: a partial response must not look complete.
 */
export function createStreamingHandler(
  respond: Respond,
  around: (context: Context, work: () => Promise<void>) => Promise<void>,
): StreamingHandler {
  // AWS packages define the global if it is missing, without its streaming part.
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
  // This sends status and headers, before the first byte and also if none follows, which would be a 500 of the gateway.
  out.write('')
  for await (const bytes of body ?? [])
    for (let at = 0; at < bytes.length; at += PIECE) {
      if (!out.write(bytes.subarray(at, at + PIECE))) await drained(out)
      if (out.destroyed) throw new Error('the response was closed before its end')
    }
  out.end()
}

/** Waits until the stream takes more, or is closed. Rejects when neither comes: the function would stand still until it is over. */
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

/** Corrects `Location` for the caller: the app writes it from its own root. */
function withBase(response: Response, base: string): Response {
  const location = response.headers.get('location')
  if (base !== '' && location?.startsWith('/') === true) response.headers.set('location', base + location)
  return response
}
