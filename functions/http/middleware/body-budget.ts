import { MAX_BODY_BYTES } from '../../domain/body-bytes.ts'
import { createByteBudget } from './byte-budget.ts'
import { RequestError } from './request-error.ts'

/** Bytes of each body that do not count against the budget. */
const FREE = 64 * 1024
/**
 * Limits of the bytes in the budget, for all tenants together and for one tenant. Only bodies larger than `FREE` count.
 */
const MAX_BYTES = 256 * 1024 * 1024
const MAX_BYTES_OF_TENANT = 64 * 1024 * 1024
/** Maximum time that a body waits for budget. */
const BUDGET_TIMEOUT_MS = 10_000
/**
 * Minimum rate of a body that holds budget: `STEP` bytes in each `STEP_MS`. A slower body would block others that wait
 * for the budget.
 */
const STEP = 16 * 1024
const STEP_MS = 10_000

/** A body that is being received. */
export interface EnteringBody {
  /**
   * Reserves budget for the whole body as soon as it exceeds `FREE` bytes. Rejects with `busy` if the wait for budget
   * times out.
   */
  holds(bytes: number): Promise<void>
  leave(): void
}

/**
 * Limits the memory of bodies that are being received. Without it, a client could hold nearly complete bodies on all of
 * its connections.
 */
export interface BodyBudget {
  /** `who`: the tenant, whose bodies share one budget. `declared`: the declared length of the body, if there is one. */
  enter(who: string, declared: string | undefined): EnteringBody
}

/** Creates the body budget of this process. */
export function createBodyBudget({
  most = MAX_BYTES,
  mostOfTenant = MAX_BYTES_OF_TENANT,
  timeoutMs = BUDGET_TIMEOUT_MS,
} = {}): BodyBudget {
  const budget = createByteBudget({ most, mostOfTenant, timeoutMs, refusal: tooManyBodies })
  return {
    enter(who, declared) {
      const bytes = Math.min(Number(declared ?? MAX_BODY_BYTES) || MAX_BODY_BYTES, MAX_BODY_BYTES)
      let release: (() => void) | undefined
      return {
        async holds(size) {
          if (release !== undefined || size <= FREE) return
          release = await budget.take(who, bytes)
        },
        leave() {
          release?.()
          release = undefined
        },
      }
    },
  }
}

/** The body, read only within the budget. */
export const withinBudget = (body: ReadableStream<Uint8Array>, entering: EnteringBody): ReadableStream<Uint8Array> =>
  ReadableStream.from(readAndLeave(body, entering))

async function* readAndLeave(body: ReadableStream<Uint8Array>, entering: EnteringBody): AsyncGenerator<Uint8Array> {
  try {
    yield* chunksWithinBudget(body, entering)
  } finally {
    entering.leave()
  }
}

interface Reading {
  /** Rejects when the body is evicted. */
  readonly evicted?: Promise<never>
  /** Whether the minimum rate applies from the first byte on. Otherwise, it applies once the body holds budget. */
  readonly isHurried?: boolean
}

/** Chunks of a body within the budget. Rejects aborted bodies, and bodies slower than `STEP` bytes in `STEP_MS`. */
export async function* chunksWithinBudget(
  body: ReadableStream<Uint8Array>,
  entering: EnteringBody,
  { evicted, isHurried = false }: Reading = {},
): AsyncGenerator<Uint8Array> {
  let size = 0
  let step = { from: 0, leftMs: STEP_MS }
  const reader = body.getReader()
  try {
    for (;;) {
      const begun = performance.now()
      const isCounted = isHurried || size > FREE
      const read = reader.read().catch(brokenOff)
      const next = evicted === undefined ? read : Promise.race([read, evicted])
      const { done, value } = isCounted ? await within(step.leftMs, next) : await next
      if (done) return
      size += value.byteLength
      const leftMs = step.leftMs - (performance.now() - begun)
      step = isCounted && size - step.from < STEP ? { ...step, leftMs } : { from: size, leftMs: STEP_MS }
      await entering.holds(size)
      yield value
    }
  } finally {
    // For an aborted body, `cancel` rejects with the error that aborted the body. That error is already being thrown.
    await reader.cancel().catch(() => undefined)
  }
}

async function within<Value>(milliseconds: number, value: Promise<Value>): Promise<Value> {
  let late: NodeJS.Timeout | undefined
  const stalled = new Promise<never>((_, reject) => {
    late = setTimeout(() => reject(bodyStalled()), milliseconds)
  })
  return Promise.race([value, stalled]).finally(() => clearTimeout(late))
}

/** Throws a client error, because the client disconnected before its body was complete. */
function brokenOff(): never {
  throw new RequestError(
    400,
    'malformed_body',
    'the connection closed before the body was complete: send the request again',
  )
}

function bodyStalled(): RequestError {
  return new RequestError(408, 'body_stalled', 'the body was too slow, with less than 16 KB in 10 s: send it again')
}

function tooManyBodies(): RequestError {
  const detail = 'the server is receiving too many large bodies: retry in 5 s'
  return new RequestError(503, 'busy', detail, { headers: { 'retry-after': '5' } })
}
