import { yieldToEventLoop } from '../../domain/time/yield-to-event-loop.ts'
import { createBufferedBodies } from './buffered-bodies.ts'
import type { NamedText } from './buffered-bodies.ts'
import { createSequentialBodies, PIECE } from './sequential-bodies.ts'
import type { Pieces, BodyChunk } from './sequential-bodies.ts'
import { createResponseBudget } from './response-budget.ts'
import type { BudgetLimits } from './response-budget.ts'

/** Maximum length of a text that is not shared, in characters. */
const SHORT = 8 * 1024

/**
 * Long texts that are being sent to the clients of one tenant. Clients with the same text share its bytes, and the
 * total is limited. A client that reads slowly or not at all costs only a few chunks of memory. Other tenants are not
 * affected.
 */
export interface LongTexts {
  /**
   * Yields the text in chunks, on demand. The text is held from the first chunk to the last. Rejects with the errors of
   * `assertBudget`.
   */
  pieces(text: string | Uint8Array | NamedText): AsyncGenerator<Uint8Array, void, undefined>
  /**
   * Sends long texts of responses that have started and can no longer be rejected. A text is built when the previous
   * one has been read and budget is free. `make` must have no effects, because it is called again if its text did not
   * fit into the budget.
   */
  sequential<Place>(first: Place, make: (place: Place) => Promise<BodyChunk<Place>>): Pieces
  /** Throws `busy` if a text of this many bytes does not fit, because clients have left too much unread. */
  assertBudget(bytes: number): void
}

/** The long texts of a process. */
export interface SharedBytes {
  of(tenant: string): LongTexts
  /** Whether unread texts use much of the budget. If so, clients that do not read should be disconnected earlier. */
  isCrowded(): boolean
}

/** Creates the long texts of this process. */
export function createSharedBytes(limits: BudgetLimits = {}): SharedBytes {
  const budget = createResponseBudget(limits)
  const texts = createBufferedBodies(budget)
  const turns = createSequentialBodies()
  return {
    of: (tenant) => ({
      async *pieces(text) {
        if ((typeof text === 'string' || text instanceof Uint8Array) && text.length <= SHORT) {
          yield Buffer.from(text)
          return
        }
        const { bytes, release } = texts.hold(tenant, text)
        text = ''
        try {
          for (let at = 0; at < bytes.length; at += PIECE) yield bytes.subarray(at, at + PIECE)
        } finally {
          release()
        }
      },
      sequential: (first, make) => turns.sequential({ tenant, texts, budget }, first, make),
      assertBudget: (bytes) => texts.assertBudget(tenant, bytes),
    }),
    isCrowded: budget.isCrowded,
  }
}

/**
 * Bytes sent before yielding to the event loop. The kernel accepts megabytes even for a client that does not read.
 * Sending all of them at once would block the event loop.
 */
const AT_ONCE = 16 * 1024

/**
 * Creates a body that produces its next chunk after the client has read the previous one. Releases the chunks when the
 * client disconnects.
 */
export function bodyOf(pieces: Pieces): ReadableStream<Uint8Array> {
  let sent = 0
  return new ReadableStream(
    {
      async pull(controller) {
        if (sent >= AT_ONCE) {
          sent = 0
          await yieldToEventLoop()
        }
        const { done, value } = await pieces.next()
        if (done === true) controller.close()
        else {
          sent += value.length
          controller.enqueue(value)
        }
      },
      async cancel() {
        await pieces.return()
      },
    },
    { highWaterMark: 0 },
  )
}
