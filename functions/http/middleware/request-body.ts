import type { HonoRequest, MiddlewareHandler } from 'hono'
import { BODY_TOO_LARGE, bodyBytes } from '../../domain/body-bytes.ts'
import { isExactNumber } from '../../domain/json.ts'
import { readJson, withPlainNumbers } from '../../log/json/exact-json.ts'
import { jsonFault } from '../../log/json/json-size.ts'
import { others } from '../streaming/document-queue.ts'
import type { AppEnv } from '../dependencies.ts'
import { withinBudget, chunksWithinBudget } from './body-budget.ts'
import type { BodyBudget } from './body-budget.ts'
import { RequestError } from './request-error.ts'

/**
 * Size in bytes above which parsing a body blocks the event loop noticeably. Such bodies are parsed one after another.
 * Other requests are served before each of them.
 */
const LARGE = 256 * 1024
/**
 * Bytes of the body budget that a streamed body reserves. An import keeps at most this many bytes in memory
 * (`functions/http/v1/transfer/import-lines.ts`).
 */
const STREAMED = String(1024 * 1024)
/** Methods whose body is ignored. For a TRACE, the `Request` constructor would throw. */
const BODILESS = new Set(['GET', 'HEAD', 'TRACE'])

/**
 * Reads a body once and completely, and passes it on. The limit applies whatever `Content-Length` says. Rejects bodies
 * that are too large, not UTF-8, nested too deeply, or have too many values.
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
      // The body is passed as bytes, because a string would set its own content type.
      c.req.raw = bytes.length === 0 ? untyped(c.req.raw) : new Request(c.req.raw, { body: bytes })
      c.req.json = async <Value>() => readBody(await c.req.text()) as Value
    } finally {
      entering.leave()
    }
    await next()
  }
}

/**
 * Parses a body and keeps its numbers exactly as they were sent. Only numbers that are top-level fields become
 * JavaScript numbers, because they are settings of the request, such as `ttl_days`. If the whole body is one number, it
 * becomes a JavaScript number too. Schemas would accept its `ExactNumber` as an object.
 */
function readBody(text: string): unknown {
  const body = readJson(text)
  if (isExactNumber(body)) return withPlainNumbers(body)
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  for (const [name, value] of Object.entries(body))
    if (isExactNumber(value)) Object.assign(body, { [name]: withPlainNumbers(value) })
  return body
}

/** A request without a body. Its `Content-Type` is removed, because some clients set one on every request. */
function untyped(request: Request): Request {
  const headers = new Headers(request.headers)
  headers.delete('content-type')
  return new Request(request.url, { method: request.method, headers, signal: request.signal })
}

/** Whether the body consists of JSON lines, which an import reads as a stream without a limit on their number. */
export const isStreamed = (request: Pick<HonoRequest, 'path' | 'header'>): boolean =>
  request.path.endsWith('/import') && (request.header('content-type') ?? '').startsWith('application/x-ndjson')

/**
 * Rejects JSON text that would block the event loop, before it is parsed. The limits apply to a body or to one line of
 * an import.
 */
export function requireBearable(text: string, what: string): void {
  const fault = jsonFault(text)
  if (fault !== undefined) throw new RequestError(400, 'malformed_body', `${what} ${fault}`)
}

/** Rejects a request without a body, which would otherwise count as `{}`. */
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
