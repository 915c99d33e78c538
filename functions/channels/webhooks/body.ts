import type { Json } from '../../domain/json.ts'
import { jsonFault } from '../../log/json/json-size.ts'
import type { Refusal } from '../../ports/inbound-endpoint.ts'

/** The JSON of a body, or why it is refused. */
export function readJson(bytes: Buffer, contentType: string): { readonly body: Json } | Refusal {
  if (/^application\/x-www-form-urlencoded/i.test(contentType)) {
    const detail = 'this webhook takes JSON: choose the content type application/json where you have set it up'
    return { status: 415, code: 'unsupported_media_type', detail }
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const fault = jsonFault(text)
    if (fault !== undefined) return malformed(fault)
    return { body: JSON.parse(text) as Json }
  } catch {
    return malformed('is not JSON in UTF-8')
  }
}

const malformed = (what: string): Refusal => ({ status: 400, code: 'malformed_body', detail: `the body ${what}` })
