import { z } from 'zod'

const Head = z.object({
  statusCode: z.int(),
  headers: z.record(z.string(), z.string()).default({}),
  cookies: z.array(z.string()).default([]),
})
/** Separator between the JSON head and the body. */
const SEPARATOR = Buffer.alloc(8)

interface Parts {
  head(head: z.output<typeof Head>): void
  body(bytes: Buffer): void
}

/**
 * Creates a reader of a streamed response, whose chunks may have any boundaries. The reader passes on the head first, then the
 * body's bytes as they arrive.
 */
export function createPreludeReader({ head, body }: Parts): { read(bytes: Buffer): void } {
  let pending = Buffer.alloc(0)
  let hasHead = false
  return {
    read(bytes) {
      if (hasHead) return body(bytes)
      pending = Buffer.concat([pending, bytes])
      const at = pending.indexOf(SEPARATOR)
      if (at < 0) return
      hasHead = true
      head(Head.parse(JSON.parse(pending.subarray(0, at).toString())))
      const rest = pending.subarray(at + SEPARATOR.byteLength)
      if (rest.byteLength > 0) body(rest)
    },
  }
}
