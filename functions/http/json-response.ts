import type { TypedResponse } from 'hono'
import type { JSONParsed } from 'hono/utils/types'
import { bodyOf } from './long-bodies.ts'
import type { SharedBytes } from './long-bodies.ts'

/** Characters. Shorter documents are sent at once. */
const SHORT = 16 * 1024

/**
 * A document as JSON. A long one shares its bytes with others and goes out as its client takes it; it is refused with `busy`
 * while too much is left unread.
 */
export function jsonResponse<Body>(
  shared: SharedBytes,
  document: Body,
  headers: Readonly<Record<string, string>> = {},
): Response & TypedResponse<JSONParsed<Body>, 200, 'json'> {
  const text = JSON.stringify(document)
  const init = { headers: { ...headers, 'content-type': 'application/json' } }
  if (text.length <= SHORT) return new Response(text, init) as Response & TypedResponse<JSONParsed<Body>, 200, 'json'>
  shared.requireRoom(text.length)
  return new Response(bodyOf(shared.pieces(text)), init) as Response & TypedResponse<JSONParsed<Body>, 200, 'json'>
}
