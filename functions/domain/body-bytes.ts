/** Limit of a request body, in bytes. API Gateway and Lambda accept no larger one (decision record 15). */
export const MAX_BODY_BYTES = 4 * 1024 * 1024
/**
 * A body that is too large is still read to its end and discarded, up to this size. Many clients read the response only
 * after they have sent everything. Without this, they would get a broken connection instead of the error.
 */
const MAX_DISCARDED_BYTES = 16 * 1024 * 1024

export const BODY_TOO_LARGE = `a body may have at most ${MAX_BODY_BYTES} bytes (4 MB)`

/** Reads a whole body, whatever length it declares; undefined if it is too large. */
export async function bodyBytes(
  pieces: AsyncIterable<Uint8Array>,
  declared: string | null | undefined,
): Promise<Buffer<ArrayBuffer> | undefined> {
  if (Number(declared ?? 0) > MAX_DISCARDED_BYTES) return undefined
  const held: Uint8Array[] = []
  let size = 0
  for await (const piece of pieces) {
    size += piece.byteLength
    if (size > MAX_DISCARDED_BYTES) return undefined
    if (size > MAX_BODY_BYTES) held.length = 0
    else held.push(piece)
  }
  return size > MAX_BODY_BYTES ? undefined : Buffer.concat(held)
}
