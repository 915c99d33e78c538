import { createHash } from 'node:crypto'
import { setImmediate as nextRound } from 'node:timers/promises'
import { createRecent } from '../domain/recent.ts'
import { RequestError } from './middleware/request-error.ts'
import { createTurns, PIECE } from './texts-in-turn.ts'
import type { Pieces, Turns } from './texts-in-turn.ts'

/** Characters. A shorter text is not worth sharing. */
const SHORT = 8 * 1024
/** Bytes of long texts that clients have not read yet, in total. */
const MOST_BYTES = 64 * 1024 * 1024
/** Bytes of named texts that are kept for the next client when nobody is reading them. */
const KEPT_BYTES = 16 * 1024 * 1024

/** A text that is made when it is sent, unless it is still kept: the same name is always the same text. */
export interface NamedText {
  readonly name: string
  make(): string
}

/**
 * Long texts on their way to clients. Clients of the same text share its bytes, and the total is bounded: however many clients
 * read slowly or not at all, each costs a few pieces.
 */
export interface SharedBytes {
  /** The text in pieces, on demand; held from the first to the last. Rejects as `requireRoom` throws. */
  pieces(text: string | Uint8Array | NamedText): AsyncGenerator<Uint8Array, void, undefined>
  /** Long texts of responses that have begun and cannot be refused any more. */
  readonly inTurn: Turns['inTurn']
  /** Refuses a text of this many bytes, with `busy`, while clients have left too much of other texts unread. */
  requireRoom(bytes: number): void
  /** Whether what clients have left unread takes more than half of the room. */
  isHalfFull(): boolean
}

interface Held {
  readonly name: string
  readonly bytes: Uint8Array
  readonly isNamed: boolean
  readers: number
}

const isLoose = (text: string | Uint8Array | NamedText): text is string | Uint8Array =>
  typeof text === 'string' || text instanceof Uint8Array

/** Bytes that several clients were given are looked at once. */
const names = new WeakMap<Uint8Array, string>()

function nameOf(bytes: Uint8Array): string {
  const name = names.get(bytes) ?? createHash('sha256').update(bytes).digest('base64')
  names.set(bytes, name)
  return name
}

const tooMuchUnread = (): RequestError => {
  const detail = 'too much of other responses is still unread: try again'
  return new RequestError(503, 'busy', detail, { headers: { 'retry-after': '5' } })
}

/** The texts that this process is sending. */
export function createSharedBytes(most = MOST_BYTES): SharedBytes {
  const held = new Map<string, Held>()
  const kept = createRecent<Uint8Array>(KEPT_BYTES)
  let total = 0
  const isFull = (bytes: number): boolean => total > 0 && total + bytes > most
  const holdNamed = ({ name, make }: NamedText): Held => hold(name, true, () => kept.take(name) ?? Buffer.from(make()))
  const turns = createTurns((bytes) => {
    if (!held.has(nameOf(bytes)) && isFull(bytes.length)) return undefined
    const one = holdLoose(bytes)
    return { bytes: one.bytes, release: () => release(one) }
  })
  return {
    async *pieces(text) {
      if (isLoose(text) && text.length <= SHORT) {
        yield Buffer.from(text)
        return
      }
      const one = isLoose(text) ? holdLoose(text) : holdNamed(text)
      text = ''
      try {
        for (let at = 0; at < one.bytes.length; at += PIECE) yield one.bytes.subarray(at, at + PIECE)
      } finally {
        release(one)
      }
    },
    inTurn: turns.inTurn,
    requireRoom,
    isHalfFull: () => total > most / 2,
  }

  function requireRoom(bytes: number): void {
    if (isFull(bytes)) throw tooMuchUnread()
  }

  function holdLoose(text: string | Uint8Array): Held {
    const bytes = typeof text === 'string' ? Buffer.from(text) : text
    return hold(nameOf(bytes), false, () => bytes)
  }

  function hold(name: string, isNamed: boolean, make: () => Uint8Array): Held {
    const known = held.get(name)
    if (known !== undefined) known.readers++
    if (known !== undefined) return known
    const one = { name, bytes: make(), isNamed, readers: 1 }
    requireRoom(one.bytes.length)
    total += one.bytes.length
    held.set(name, one)
    return one
  }

  function release(one: Held): void {
    if (--one.readers > 0) return
    held.delete(one.name)
    total -= one.bytes.length
    if (one.isNamed) kept.set(one.name, one.bytes, one.bytes.length)
    turns.freed()
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
          await nextRound()
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
