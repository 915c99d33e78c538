import type { TypedResponse } from 'hono'
import type { JSONParsed } from 'hono/utils/types'
import { bodyOf } from './response-bodies.ts'
import type { LongTexts } from './response-bodies.ts'

/** Characters. Shorter documents are sent at once. */
const SHORT = 16 * 1024

/**
 * A document as JSON. A long one shares its bytes with others and is sent as fast as its client reads; it is refused with
 * `busy` while clients have left too much unread.
 */
export function jsonResponse<Body>(
  texts: LongTexts,
  document: Body,
  headers: Readonly<Record<string, string>> = {},
): Response & TypedResponse<JSONParsed<Body>, 200, 'json'> {
  return bytesResponse(texts, JSON.stringify(document), headers)
}

/** The same for a document whose JSON is made already. */
export function bytesResponse<Body>(
  texts: LongTexts,
  json: string | Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>> = {},
): Response & TypedResponse<JSONParsed<Body>, 200, 'json'> {
  const init = { headers: { ...headers, 'content-type': 'application/json' } }
  if (json.length > SHORT) texts.assertBudget(json.length)
  const body = json.length > SHORT ? bodyOf(texts.pieces(json)) : json
  // What its JSON says.
  return new Response(body, init) as Response & TypedResponse<JSONParsed<Body>, 200, 'json'>
}
