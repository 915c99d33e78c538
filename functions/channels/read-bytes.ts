import { BODY_TOO_LARGE, bodyBytes } from '../domain/body-bytes.ts'
import type { Refusal } from '../ports/inbound-endpoint.ts'

/** Reads the bytes of a request; undefined if they exceed the limit. */
export const readBytes = ({ body, headers }: Request): Promise<Buffer | undefined> =>
  bodyBytes((body ?? []) as AsyncIterable<Uint8Array>, headers.get('content-length'))

export const TOO_LARGE: Refusal = { status: 413, code: 'content_too_large', detail: BODY_TOO_LARGE }
