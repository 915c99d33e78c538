import { MAX_BODY_BYTES } from '../../domain/body-bytes.ts'
import { chunksWithinBudget } from './body-budget.ts'
import type { EnteringBody } from './body-budget.ts'
import { RequestError } from './request-error.ts'

const MIB = 1024 * 1024
/** Limits of the bytes held for unsigned bodies: in total, per endpoint or webhook, and per sender. */
const MAX_BYTES = 128 * MIB
const MAX_ENDPOINT_BYTES = 64 * MIB
const MAX_SENDER_BYTES = 32 * MIB

/** The endpoint that receives an unsigned body, and the sender's address if it is known. */
interface Origin {
  readonly endpoint: string
  readonly sender: string | undefined
}

interface Body extends Origin {
  readonly beganAt: number
  receivedBytes: number
  heldBytes: number
  evict(): void
}

/**
 * Limits the memory for bodies whose signature can be checked only when they are complete. The limits count received
 * bytes, not declared lengths. If a limit is reached, the slowest body is evicted. So a sender with many open bodies
 * does not block a complete one.
 */
export interface UnsignedBodies {
  read(body: ReadableStream<Uint8Array>, origin: Origin): ReadableStream<Uint8Array>
}

export function createUnsignedBodies({
  maxBytes = MAX_BYTES,
  maxEndpointBytes = MAX_ENDPOINT_BYTES,
  maxSenderBytes = MAX_SENDER_BYTES,
} = {}): UnsignedBodies {
  const bodies = new Set<Body>()

  const limits: readonly (readonly [bytes: number, isAlike: (one: Body, other: Body) => boolean])[] = [
    [maxSenderBytes, (one, other) => one.sender !== undefined && one.sender === other.sender],
    [maxEndpointBytes, (one, other) => one.endpoint === other.endpoint],
    [maxBytes, () => true],
  ]

  function makeWay(body: Body): void {
    for (const [maxHeldBytes, isAlike] of limits) {
      const alike = [...bodies].filter((one) => one.heldBytes > 0 && isAlike(one, body))
      let held = alike.reduce((sum, { heldBytes }) => sum + heldBytes, 0)
      if (held <= maxHeldBytes) continue
      for (const slowest of alike.toSorted(bySpeed)) {
        if (held <= maxHeldBytes) break
        held -= slowest.heldBytes
        bodies.delete(slowest)
        slowest.evict()
      }
    }
  }

  function enter(origin: Origin): EnteringBody & { readonly evicted: Promise<never> } {
    const { promise: evicted, reject } = Promise.withResolvers<never>()
    evicted.catch(() => undefined)
    const body: Body = {
      ...origin,
      beganAt: performance.now(),
      receivedBytes: 0,
      heldBytes: 0,
      evict: () => reject(tooManyBodies()),
    }
    bodies.add(body)
    return {
      evicted,
      async holds(bytes) {
        body.receivedBytes = bytes
        body.heldBytes = Math.min(bytes, MAX_BODY_BYTES)
        if (bodies.has(body)) makeWay(body)
        if (!bodies.has(body)) await evicted
      },
      leave: () => void bodies.delete(body),
    }
  }

  return {
    read(body, origin) {
      const entering = enter(origin)
      return ReadableStream.from(readAndLeave(body, entering))
    },
  }
}

/** Compares two bodies by their average rates since they began; the slower body sorts first. */
function bySpeed(left: Body, right: Body): number {
  const now = performance.now()
  const speedOf = ({ receivedBytes, beganAt }: Body): number => receivedBytes / (now - beganAt + 1)
  return speedOf(left) - speedOf(right)
}

async function* readAndLeave(
  body: ReadableStream<Uint8Array>,
  entering: EnteringBody & { readonly evicted: Promise<never> },
): AsyncGenerator<Uint8Array> {
  try {
    yield* chunksWithinBudget(body, entering, { evicted: entering.evicted, isHurried: true })
  } finally {
    entering.leave()
  }
}

function tooManyBodies(): RequestError {
  const detail = 'the server is receiving too many bodies, and this one was the slowest: retry in 5 s'
  return new RequestError(503, 'busy', detail, { headers: { 'retry-after': '5' } })
}
