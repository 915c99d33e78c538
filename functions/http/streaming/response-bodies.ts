import { yieldToEventLoop } from '../../domain/time/yield-to-event-loop.ts'
import { createBufferedBodies } from './buffered-bodies.ts'
import type { NamedText } from './buffered-bodies.ts'
import { createSequentialBodies, PIECE } from './sequential-bodies.ts'
import type { Pieces, BodyChunk } from './sequential-bodies.ts'
import { createResponseBudget } from './response-budget.ts'
import type { BudgetLimits } from './response-budget.ts'

/** Characters. A shorter text is not worth sharing. */
const SHORT = 8 * 1024

/**
 * Long texts on their way to the clients of one tenant. Clients of the same text share its bytes, and what is held is bounded: however
 * many clients read slowly or not at all, each costs a few pieces, and those of other tenants get theirs.
 */
export interface LongTexts {
  /** The text in pieces, on demand; held from the first to the last. Rejects as `assertBudget` throws. */
  pieces(text: string | Uint8Array | NamedText): AsyncGenerator<Uint8Array, void, undefined>
  /**
   * Long texts of responses that have begun and cannot be refused any more: each is made when the one before has been read and there
   * is room for it. `make` has no effects, and is repeated where there was no room.
   */
  sequential<Place>(first: Place, make: (place: Place) => Promise<BodyChunk<Place>>): Pieces
  /** Refuses a text of this many bytes, with `busy`, while clients have left too much of other texts unread. */
  assertBudget(bytes: number): void
}

/** The long texts of a process. */
export interface SharedBytes {
  of(tenant: string): LongTexts
  /** Whether clients leave so much unread that those who do not read should leave sooner. */
  isCrowded(): boolean
}

/** The texts that this process is sending. */
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

/** Bytes of a body, after which others have their turn: the system takes megabytes at once for a client that reads nothing. */
const AT_ONCE = 16 * 1024

/** A body that produces its next piece when the client has read the one before, and releases it when the client leaves. */
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
