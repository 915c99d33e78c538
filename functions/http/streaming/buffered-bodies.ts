import { sha256 } from '../../domain/hash.ts'
import { createRecent } from '../../domain/cache/lru-cache.ts'
import { RequestError } from '../middleware/request-error.ts'
import type { ResponseBudget } from './response-budget.ts'

/** Maximum bytes of cached texts. A named text that no client is reading is cached for the next client. */
const KEPT_BYTES = 16 * 1024 * 1024

/** A text that is created when it is sent, unless it is still cached. Equal names always mean equal texts. */
export interface NamedText {
  readonly name: string
  make(): string
  /** Called when the text's bytes exist. The source of the text can then be dropped. */
  taken?(): void
}

/** The bytes of a text while it is sent to clients of one tenant. */
export interface Held {
  readonly bytes: Uint8Array
  release(): void
}

/** Texts that clients have not read completely. Clients of the same tenant share the bytes of equal texts. */
export interface BufferedBodies {
  /** Throws `busy` if a text of this many bytes does not fit into the budget. */
  assertBudget(tenant: string, bytes: number): void
  /** Holds a text until the result is released. Throws like `assertBudget`. */
  hold(tenant: string, text: string | Uint8Array | NamedText): Held
  /**
   * Like `hold`, but uses budget that was reserved before, and releases the unused part of it. Returns undefined if the
   * text does not fit into the reserved budget.
   */
  holdReserved(tenant: string, bytes: Uint8Array, reserved: number): Held | undefined
}

interface Shared {
  readonly tenant: string
  readonly bytes: Uint8Array
  readonly isNamed: boolean
  readers: number
}

/** Cached hashes, because several clients may get the same bytes. */
const hashes = new WeakMap<Uint8Array, string>()

function hashOf(bytes: Uint8Array): string {
  const hash = hashes.get(bytes) ?? sha256(bytes, 'base64')
  hashes.set(bytes, hash)
  return hash
}

export function createBufferedBodies(budget: ResponseBudget): BufferedBodies {
  const held = new Map<string, Shared>()
  const kept = createRecent<Uint8Array>(KEPT_BYTES)

  function assertBudget(tenant: string, bytes: number): void {
    if (!budget.fits(tenant, bytes)) throw tooMuchUnread()
  }

  function hold(tenant: string, hash: string, isNamed: boolean, make: () => Uint8Array): Held {
    const name = JSON.stringify([tenant, hash])
    const known = held.get(name)
    if (known !== undefined) return shared(name, known)
    const bytes = isNamed ? (kept.take(name) ?? make()) : make()
    assertBudget(tenant, bytes.length)
    budget.take(tenant, bytes.length)
    return shared(name, { tenant, bytes, isNamed, readers: 0 })
  }

  /** Registers one more reader of the text. */
  function shared(name: string, one: Shared): Held {
    held.set(name, one)
    one.readers++
    return { bytes: one.bytes, release: () => release(name, one) }
  }

  function release(name: string, one: Shared): void {
    if (--one.readers > 0) return
    held.delete(name)
    if (one.isNamed) kept.set(name, one.bytes, one.bytes.length)
    budget.give(one.tenant, one.bytes.length)
  }

  return {
    assertBudget,
    hold(tenant, text) {
      if (typeof text === 'object' && 'name' in text) {
        const named = hold(tenant, text.name, true, () => Buffer.from(text.make()))
        text.taken?.()
        return named
      }
      const bytes = typeof text === 'string' ? Buffer.from(text) : text
      return hold(tenant, hashOf(bytes), false, () => bytes)
    },
    holdReserved(tenant, bytes, reserved) {
      const name = JSON.stringify([tenant, hashOf(bytes)])
      const known = held.get(name)
      const lacking = (known === undefined ? bytes.length : 0) - reserved
      if (lacking > 0 && !budget.fits(tenant, lacking)) {
        budget.give(tenant, reserved)
        return undefined
      }
      const one = known ?? { tenant, bytes, isNamed: false, readers: 0 }
      const text = shared(name, one)
      if (lacking > 0) budget.take(tenant, lacking)
      else budget.give(tenant, -lacking)
      return text
    },
  }
}

const tooMuchUnread = (): RequestError => {
  const detail = 'too many bytes of other responses are still unread: retry in 5 s'
  return new RequestError(503, 'busy', detail, { headers: { 'retry-after': '5' } })
}
