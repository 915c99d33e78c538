import type { TypedResponse } from 'hono'
import type { JSONParsed } from 'hono/utils/types'
import { bodyOf } from './response-bodies.ts'
import type { LongTexts } from './response-bodies.ts'
import { jsonText } from '../../log/json/well-formed.ts'

/** Maximum length of a document that is sent at once, in characters. */
const SHORT = 16 * 1024

/**
 * Responds with a document as JSON. Equal long documents share their bytes and are sent at the client's pace. Throws
 * `busy` if clients have left too much unread.
 */
export function jsonResponse<Body>(
  texts: LongTexts,
  document: Body,
  headers: Readonly<Record<string, string>> = {},
): Response & TypedResponse<JSONParsed<Body>, 200, 'json'> {
  return bytesResponse(texts, jsonText(document), headers)
}

/** Responds with a document that is already JSON. */
export function bytesResponse<Body>(
  texts: LongTexts,
  json: string | Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>> = {},
): Response & TypedResponse<JSONParsed<Body>, 200, 'json'> {
  const init = { headers: { ...headers, 'content-type': 'application/json' } }
  if (json.length > SHORT) texts.assertBudget(json.length)
  const body = json.length > SHORT ? bodyOf(texts.pieces(json)) : json
  // The cast is safe: the body is the JSON of a `Body`.
  return new Response(body, init) as Response & TypedResponse<JSONParsed<Body>, 200, 'json'>
}
