import { yieldToEventLoop } from '../../domain/time/yield-to-event-loop.ts'
import { createTenantLine } from '../../domain/fair-queue.ts'
import type { Held, BufferedBodies } from './buffered-bodies.ts'
import type { ResponseBudget, WaitingText } from './response-budget.ts'

/**
 * Chunk size in bytes. A longer text is sent in chunks of this size, on demand. Up to three chunks are in memory for a
 * client that does not read. The local server requests two of them before it starts to send
 * (`functions/runtime/local/http-server.ts`).
 */
export const PIECE = 16 * 1024
/** Bytes of a text that each client may hold outside of the budget. */
const OWN_BYTES = 64 * 1024

/** Chunks that are sent as the client reads them. */
export type Pieces = Pick<AsyncGenerator<Uint8Array, void, undefined>, 'next'> & { return(): Promise<unknown> }

/** A text, and the position of the next text. The position is undefined after the last text. */
export interface BodyChunk<Place> {
  readonly text: string
  readonly next: Place | undefined
}

/** Builds a text. It must have no effects, because it is called again if the text did not fit into the budget. */
type Make<Place> = (place: Place) => Promise<BodyChunk<Place>>

/** The tenant whose clients read the texts, with its buffers and budget. */
interface Holder {
  readonly tenant: string
  readonly texts: Pick<BufferedBodies, 'holdReserved'>
  readonly budget: Pick<ResponseBudget, 'wait' | 'give'>
}

export interface SequentialBodies {
  /**
   * Yields texts in chunks, one text after another. A text is built when the previous one has been read and budget is
   * free. For all clients together, one text is built at a time. The queue is fair between tenants.
   */
  sequential<Place>(holder: Holder, first: Place, make: Make<Place>): Pieces
}

export function createSequentialBodies(): SequentialBodies {
  const queued = createTenantQueue()
  return {
    sequential<Place>(holder: Holder, first: Place, make: Make<Place>): Pieces {
      let place: Place | undefined = first
      let text: Held | undefined
      let at = 0
      let waiting: WaitingText | undefined
      const leave = (): void => {
        text?.release()
        text = undefined
      }
      /** Buffers the next body. If it does not fit, waits for budget and returns the reserved bytes. */
      const holdNext = async (from: Place, reserved: number): Promise<number> => {
        const made = await queued(holder, reserved, () => make(from))
        if (made.text === undefined) {
          waiting = holder.budget.wait(holder.tenant, made.bytes)
          return (await waiting.taken) ? made.bytes : 0
        }
        if (place === undefined) made.text.release()
        else [text, place, at] = [made.text, made.next, 0]
        return 0
      }
      return {
        async next() {
          let reserved = 0
          while (text === undefined && place !== undefined) reserved = await holdNext(place, reserved)
          // If budget is still reserved here, the client has disconnected.
          if (reserved > 0) holder.budget.give(holder.tenant, reserved)
          if (text === undefined) return { done: true, value: undefined }
          const value = text.bytes.subarray(at, (at += PIECE))
          if (at >= text.bytes.length) leave()
          return { done: false, value }
        },
        async return() {
          place = undefined
          waiting?.leave()
          leave()
        },
      }
    },
  }
}

/** A text that is held, or the number of bytes that did not fit. */
type Made<Place> =
  | { readonly text: Held; readonly next: Place | undefined }
  | { readonly text?: undefined; readonly bytes: number }

/** Builds one text at a time; the queue is fair between tenants. */
function createTenantQueue() {
  const waiting = createTenantLine<() => void>()
  let isTaken = false
  const end = (): void => {
    const next = waiting.next()
    if (next === undefined) isTaken = false
    else next()
  }
  return async <Place>(
    { tenant, texts, budget }: Holder,
    reserved: number,
    make: () => Promise<BodyChunk<Place>>,
  ): Promise<Made<Place>> => {
    if (isTaken) await new Promise<void>((resolve) => waiting.add(tenant, resolve))
    isTaken = true
    let unused = reserved
    try {
      // Yields here, because an embedded store may respond without waiting and many clients may be served in a row.
      await yieldToEventLoop()
      const { text, next } = await make()
      const bytes = Buffer.from(text)
      if (bytes.length <= OWN_BYTES) return { text: { bytes, release: () => undefined }, next }
      unused = 0
      const held = texts.holdReserved(tenant, bytes, reserved)
      return held === undefined ? { bytes: bytes.length } : { text: held, next }
    } finally {
      if (unused > 0) budget.give(tenant, unused)
      end()
    }
  }
}
