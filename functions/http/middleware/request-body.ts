import type { HonoRequest, MiddlewareHandler } from 'hono'
import { BODY_TOO_LARGE, bodyBytes } from '../../domain/body-bytes.ts'
import { jsonFault } from '../../log/json/json-size.ts'
import { others } from '../streaming/document-queue.ts'
import type { AppEnv } from '../dependencies.ts'
import { withinBudget, chunksWithinBudget } from './body-budget.ts'
import type { BodyBudget } from './body-budget.ts'
import { RequestError } from './request-error.ts'

/** Bytes. To take in a larger body holds up the event loop for a moment: they come one after another, others in between. */
const LARGE = 256 * 1024
/** Bytes of a streamed body that are in memory (`functions/http/v1/transfer/import-lines.ts`). */
const STREAMED = String(1024 * 1024)
/** Methods without a body that anybody reads. Of a TRACE, no second request can be made. */
const BODILESS = new Set(['GET', 'HEAD', 'TRACE'])

/**
 * Reads a body once, whole and bounded, whatever `Content-Length` says, and hands it on as text. Refuses bodies that are too
 * large, not UTF-8, nested too deeply, or of too many values.
 */
export function requestBody(budget: BodyBudget): MiddlewareHandler<AppEnv> {
  let turn = Promise.resolve()
  return async (c, next) => {
    const { body } = c.req.raw
    if (isStreamed(c.req) && body !== null) {
      const streamed = withinBudget(body, budget.enter(c.get('caller').tenant, STREAMED))
      c.req.raw = new Request(c.req.raw, { body: streamed, duplex: 'half' })
      return next()
    }
    if (BODILESS.has(c.req.method)) return next()
    if (body === null) {
      c.req.raw = untyped(c.req.raw)
      return next()
    }
    const declared = c.req.header('content-length')
    const entering = budget.enter(c.get('caller').tenant, declared)
    try {
      const bytes = await bodyBytes(chunksWithinBudget(body, entering), declared)
      if (bytes === undefined) throw new RequestError(413, 'content_too_large', BODY_TOO_LARGE)
      if (bytes.length > LARGE) await (turn = turn.then(others))
      requireBearable(decode(bytes), 'the body')
      if (bytes.length > LARGE) await others()
      // Bytes, because a string would set a content type of its own.
      c.req.raw = bytes.length === 0 ? untyped(c.req.raw) : new Request(c.req.raw, { body: bytes })
    } finally {
      entering.leave()
    }
    await next()
  }
}

/** A request without a body, whatever it says of its body's type: some clients name one for every request. */
function untyped(request: Request): Request {
  const headers = new Headers(request.headers)
  headers.delete('content-type')
  return new Request(request.url, { method: request.method, headers, signal: request.signal })
}

/** Lines that an import reads one after another, however many there are. */
export const isStreamed = (request: Pick<HonoRequest, 'path' | 'header'>): boolean =>
  request.path.endsWith('/import') && (request.header('content-type') ?? '').startsWith('application/x-ndjson')

/** Refuses JSON text that would hold up others, before it is parsed. The text of one line is bounded as a body is. */
export function requireBearable(text: string, what: string): void {
  const fault = jsonFault(text)
  if (fault !== undefined) throw new RequestError(400, 'malformed_body', `${what} ${fault}`)
}

/** Refuses a request without a body, which would otherwise count as `{}`. */
export const requireBody: MiddlewareHandler<AppEnv> = async (c, next) => {
  if ((await c.req.text()) === '') throw new RequestError(400, 'malformed_body', 'this request needs a body')
  await next()
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    if (cause instanceof TypeError) throw new RequestError(400, 'malformed_body', 'the body is not UTF-8')
    throw cause
  }
}
