import { setImmediate as nextRound } from 'node:timers/promises'

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
export interface Stretch<Place> {
  readonly text: string
  readonly next: Place | undefined
}

export interface Turns {
  /**
   * Texts in pieces, one text after another. Each is made when the one before it has been read and there is room for it, one at
   * a time over all clients; nothing else is held. `make` has no effects, and is repeated where there was no room.
   */
  inTurn<Place>(first: Place, make: (place: Place) => Promise<Stretch<Place>>): Pieces
  /** Room has been given back. */
  freed(): void
}

interface HeldText {
  readonly bytes: Uint8Array
  release(): void
}

/** `hold` counts the bytes of a text, which others may hold already, until they are released; undefined when there is no room. */
export function createTurns(hold: (bytes: Uint8Array) => HeldText | undefined): Turns {
  let turn: Promise<unknown> = Promise.resolve()
  const waiting: (() => void)[] = []
  const freed = (): void => waiting.shift()?.()
  return {
    freed,
    inTurn<Place>(first: Place, make: (place: Place) => Promise<Stretch<Place>>): Pieces {
      let place: Place | undefined = first
      let text: HeldText | undefined
      let at = 0
      const leave = (): void => {
        text?.release()
        text = undefined
      }
      return {
        async next() {
          while (text === undefined && place !== undefined) {
            const made = inItsTurn(place, make)
            // One that fails leaves the room that there may be to the next.
            turn = made.catch(freed)
            const found = await made
            if ('room' in found) await found.room
            else if (place === undefined) found.text.release()
            else [text, place, at] = [found.text, found.next, 0]
            // There may be room for the next one, too.
            if (text !== undefined || place === undefined) freed()
          }
          if (text === undefined) return { done: true, value: undefined }
          const value = text.bytes.subarray(at, (at += PIECE))
          if (at >= text.bytes.length) leave()
          return { done: false, value }
        },
        async return() {
          place = undefined
          leave()
        },
      }
    },
  }

  /** The text at this place, held; or when there may be room for it. */
  async function inItsTurn<Place>(place: Place, make: (place: Place) => Promise<Stretch<Place>>) {
    await turn
    // A store may respond without waiting for anything, and many clients may come at once: everybody else has a turn in between.
    await nextRound()
    const { text, next } = await make(place)
    const bytes = Buffer.from(text)
    const held = bytes.length <= OWN_BYTES ? { bytes, release: () => undefined } : hold(bytes)
    if (held === undefined) return { room: new Promise<void>((resolve) => waiting.push(resolve)) }
    return { text: held, next }
  }
}
