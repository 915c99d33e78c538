import type { APIGatewayProxyEvent, Context } from 'aws-lambda'
import { Hono } from 'hono'
import { streamHandle } from 'hono/aws-lambda'

/** Lambda's handler of streamed responses; its stream is Lambda's own. */
export type StreamingHandler = (event: APIGatewayProxyEvent, stream: unknown, context: Context) => Promise<void>

/** Answers one request; `base` is what stands before the app's paths in the address that the caller used. */
export type Answer = (request: Request, base: string, context: Context) => Promise<Response>

interface LambdaGlobal {
  readonly streamifyResponse?: (handler: StreamingHandler) => StreamingHandler
}

type HonoStreaming = { Bindings: { event: APIGatewayProxyEvent; context: Context } }

/**
 * The Lambda handler that streams what `answer` gives, each invocation within `around`. The one place that knows Lambda's global;
 * where there is none, as in a test, the module loads and its handler rejects.
 */
export function createStreamingHandler(
  answer: Answer,
  around: (context: Context, respond: () => Promise<void>) => Promise<void>,
): StreamingHandler {
  // Packages of AWS make the global where there is none, without what streams.
  const { streamifyResponse } = (globalThis as { awslambda?: LambdaGlobal }).awslambda ?? {}
  if (streamifyResponse === undefined)
    return () => Promise.reject(new Error('this handler runs on Lambda only: no awslambda'))
  const outer = new Hono<HonoStreaming>()
  outer.all('*', async (c) => {
    const { event, context } = c.env
    const { base, path } = placeOf(event)
    const url = new URL(c.req.url)
    url.pathname = path
    return withBase(await answer(new Request(url, c.req.raw), base, context), base)
  })
  const respond = streamHandle(outer) as unknown as StreamingHandler
  return streamifyResponse((event, stream, context) => around(context, () => respond(readable(event), stream, context)))
}

/** A `Request` takes no body with these methods, whatever the caller sent. */
const readable = (event: APIGatewayProxyEvent): APIGatewayProxyEvent =>
  event.httpMethod === 'GET' || event.httpMethod === 'HEAD' ? { ...event, body: null } : event

/**
 * Where the app's paths begin: after the stage in the address of the API itself, after the base path of a custom domain, which is
 * in the event's `path`, too.
 */
export function placeOf(event: Pick<APIGatewayProxyEvent, 'path' | 'pathParameters' | 'requestContext'>): {
  readonly base: string
  readonly path: string
} {
  const route = `/${event.pathParameters?.['proxy'] ?? ''}`
  const mapping = beginning(event.path, route)
  return { base: beginning(event.requestContext.path, route), path: event.path.slice(mapping.length) || '/' }
}

/** What stands before `route`, which API Gateway gives decoded. */
function beginning(path: string, route: string): string {
  const whole = trimmed(decode(path))
  // A base is made of letters, digits and `_.-`, so that it is as long decoded as it was sent.
  return whole.endsWith(trimmed(route)) ? path.slice(0, whole.length - trimmed(route).length) : ''
}

const trimmed = (path: string): string => (path.endsWith('/') ? path.slice(0, -1) : path)

function decode(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** Makes `Location`, which the app gives from its own root, right for the caller. */
function withBase(response: Response, base: string): Response {
  const location = response.headers.get('location')
  if (base !== '' && location?.startsWith('/') === true) response.headers.set('location', base + location)
  return response
}
