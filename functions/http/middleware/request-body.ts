import type { MiddlewareHandler } from 'hono'
import type { AppEnv } from '../dependencies.ts'
import { RequestError } from './request-error.ts'

/** Bytes. API Gateway and Lambda take no more (record 15). */
const BODY_LIMIT = 4 * 1024 * 1024
/**
 * Bytes. A body that is too large is read to its end all the same, and thrown away, up to here: many clients look for an answer
 * only once they have sent everything, and would see a connection that broke off instead of the reason.
 */
const DISCARD_LIMIT = 16 * 1024 * 1024
/** Brackets within brackets; deeper JSON has no honest use and would exhaust the stack further in. */
const DEPTH_LIMIT = 64

/**
 * Reads a body once, whole and bounded, whatever `Content-Length` says, and hands it on as text. Refuses bodies that are too
 * large, not UTF-8, or nested too deeply.
 */
export function requestBody(): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { body } = c.req.raw
    if (c.req.method === 'GET' || c.req.method === 'HEAD') return next()
    if (Number(c.req.header('content-length') ?? 0) > DISCARD_LIMIT) throw tooLarge()
    if (body === null) return next()
    const bytes = await readBounded(body)
    if (depthOf(decode(bytes)) > DEPTH_LIMIT)
      throw new RequestError(400, 'malformed_body', `the body is nested more than ${DEPTH_LIMIT} deep`)
    // Bytes, as a string would bring a content type of its own.
    c.req.raw = new Request(c.req.raw, { body: bytes })
    await next()
  }
}

/** Refuses a request without a body where an empty one would pass for `{}`. */
export const requireBody: MiddlewareHandler<AppEnv> = async (c, next) => {
  if ((await c.req.text()) === '') throw new RequestError(400, 'malformed_body', 'this request needs a body')
  await next()
}

async function readBounded(body: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let size = 0
  const reader = body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    size += value.length
    if (size > DISCARD_LIMIT) break
    if (size > BODY_LIMIT) chunks.length = 0
    else chunks.push(value)
  }
  if (size > BODY_LIMIT) throw tooLarge()
  return Buffer.concat(chunks)
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    if (cause instanceof TypeError) throw new RequestError(400, 'malformed_body', 'the body is not UTF-8')
    throw cause
  }
}

/** How deep brackets nest in a JSON text, those in strings left out. */
function depthOf(text: string): number {
  let depth = 0
  let deepest = 0
  let inString = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (inString) {
      if (code === 0x5c) index++
      else if (code === 0x22) inString = false
    } else if (code === 0x22) inString = true
    else if (code === 0x7b || code === 0x5b) deepest = Math.max(deepest, ++depth)
    else if (code === 0x7d || code === 0x5d) depth--
  }
  return deepest
}

const tooLarge = (): RequestError =>
  new RequestError(413, 'content_too_large', `a body may have at most ${BODY_LIMIT} bytes (4 MB)`)
