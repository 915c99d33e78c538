import { createHash } from 'node:crypto'
import { RequestError } from './middleware/request-error.ts'

/** Bytes. What is longer is sent in pieces of this length, each only once the client has taken the one before. */
const PIECE = 64 * 1024
/** Bytes of long texts that clients have not taken yet, of all together. */
const MOST_BYTES = 64 * 1024 * 1024

/**
 * Long texts on their way to clients. Who is sent the same text shares its bytes, and all together keep to a bound: however many
 * clients read slowly or not at all, each costs a piece.
 */
export interface SharedBytes {
  /** The text in pieces, on demand; held from the first to the last. Rejects as `requireRoom` throws. */
  pieces(text: string): AsyncGenerator<Uint8Array, void, undefined>
  /** Refuses a text of this many bytes, with `busy`, while clients have left too much of others unread. */
  requireRoom(bytes: number): void
}

/** The texts that this process is sending. */
export function createSharedBytes(most = MOST_BYTES): SharedBytes {
  const held = new Map<string, { readonly bytes: Uint8Array; readers: number }>()
  let total = 0
  return {
    async *pieces(text) {
      if (text.length * 3 <= PIECE) {
        yield Buffer.from(text)
        return
      }
      const { name, bytes } = hold(text)
      text = ''
      try {
        for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE)
      } finally {
        release(name)
      }
    },
    requireRoom,
  }

  function requireRoom(bytes: number): void {
    if (total === 0 || total + bytes <= most) return
    const detail = 'clients have left too much of other responses unread: try again'
    throw new RequestError(503, 'busy', detail, { headers: { 'retry-after': '5' } })
  }

  function hold(text: string): { readonly name: string; readonly bytes: Uint8Array } {
    const own = Buffer.from(text)
    const name = createHash('sha256').update(own).digest('base64')
    const known = held.get(name)
    if (known !== undefined) {
      known.readers++
      return { name, bytes: known.bytes }
    }
    requireRoom(own.length)
    total += own.length
    held.set(name, { bytes: own, readers: 1 })
    return { name, bytes: own }
  }

  function release(name: string): void {
    const one = held.get(name)
    if (one === undefined || --one.readers > 0) return
    held.delete(name)
    total -= one.bytes.length
  }
}

/** A body that produces its next piece when the client has taken the one before, and returns it when the client leaves. */
export function bodyOf(
  pieces: Pick<AsyncGenerator<Uint8Array, void, undefined>, 'next'> & { return(): Promise<unknown> },
): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await pieces.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await pieces.return()
      },
    },
    { highWaterMark: 0 },
  )
}
