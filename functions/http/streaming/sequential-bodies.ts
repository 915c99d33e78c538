import { yieldToEventLoop } from '../../domain/time/yield-to-event-loop.ts'
import { createTenantLine } from '../../domain/fair-queue.ts'
import type { Held, BufferedBodies } from './buffered-bodies.ts'
import type { ResponseBudget, WaitingText } from './response-budget.ts'

/**
 * Bytes. A longer text is sent in pieces of this length, on demand: up to three of them wait for a client that reads nothing, since
 * the server for the local machine asks for two before it begins (`functions/runtime/local/http-server.ts`).
 */
export const PIECE = 16 * 1024
/** Bytes of a text that a client may hold for itself, whatever the others hold. */
const OWN_BYTES = 64 * 1024

/** What is sent as its client reads it. */
export type Pieces = Pick<AsyncGenerator<Uint8Array, void, undefined>, 'next'> & { return(): Promise<unknown> }

/** A text, and the place of the one after it; undefined after the last. */
export interface BodyChunk<Place> {
  readonly text: string
  readonly next: Place | undefined
}

/** Makes a text. It has no effects, and is repeated where there was no room. */
type Make<Place> = (place: Place) => Promise<BodyChunk<Place>>

/** Where the texts of one tenant's clients are held. */
interface Holder {
  readonly tenant: string
  readonly texts: Pick<BufferedBodies, 'holdReserved'>
  readonly budget: Pick<ResponseBudget, 'wait' | 'give'>
}

export interface SequentialBodies {
  /**
   * Texts in pieces, one text after another. Each is made when the one before it has been read and there is room for it, one at a
   * time over all clients, whose tenants take turns; nothing else is held.
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
      /** Holds the next text, unless there is no room: then it has waited, and returns what is reserved for it. */
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
          // It has left meanwhile.
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

/** A text that is held, or how many bytes there was no room for. */
type Made<Place> =
  | { readonly text: Held; readonly next: Place | undefined }
  | { readonly text?: undefined; readonly bytes: number }

/** One text is made and held at a time. */
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
      // A store may respond without waiting for anything, and many clients may come at once: everybody else has a turn in between.
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
