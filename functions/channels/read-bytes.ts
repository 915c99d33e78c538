import type { Refusal } from '../ports/door.ts'

/** Bytes. API Gateway and Lambda take no more (record 15). */
const MOST_BYTES = 4 * 1024 * 1024
/** Bytes. Up to this size, what is too large is read to its end, so that its sender looks for the response. */
const MOST_DISCARDED = 16 * 1024 * 1024

/** The bytes of a request; undefined when they are too many. */
export async function readBytes(request: Request): Promise<Buffer | undefined> {
  if (Number(request.headers.get('content-length') ?? 0) > MOST_DISCARDED) return undefined
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of (request.body ?? []) as AsyncIterable<Uint8Array>) {
    size += chunk.byteLength
    if (size > MOST_DISCARDED) return undefined
    if (size > MOST_BYTES) chunks.length = 0
    else chunks.push(chunk)
  }
  return size > MOST_BYTES ? undefined : Buffer.concat(chunks)
}

export const TOO_LARGE: Refusal = {
  status: 413,
  code: 'content_too_large',
  detail: `a body may have at most ${MOST_BYTES} bytes (4 MB)`,
}
