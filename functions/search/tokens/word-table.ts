/**
 * Bits that the keeper of the vocabulary sets for a word, or for a run of words. Each bit of `sessions` represents a
 * session that has the word, or all words of the run. Each bit of `audiences` represents an owner or a tenant that has
 * them. Bits with an outdated age are invalid.
 */
export interface Marks {
  sessionAge: number
  sessions: number
  audienceAge: number
  audiences: number
}

/** A word of a vocabulary. Usually, all occurrences of a word share one object. */
export interface Word extends Marks {
  readonly text: string
}

/** Maximum number of remembered words. With their strings, they take about 30 MB of memory. */
const MAX_WORDS = 150_000
/** Number of slots, a power of two. */
const SLOTS = 262_144
/** Maximum number of slots that a lookup probes. This limit bounds the time of every lookup. */
const MAX_PROBES = 8
/** Integers per slot, half a cache line: hash, length, and the first bytes. */
const CELL = 8
const BYTES_BEFORE = 8
const BYTES_IN_CELL = 24

const HASH_START = 0x811c9dc5
const HASH_PRIME = 0x01000193
/** The first character code after ASCII. */
const OTHERS = 0x80
/** Minimum length, in characters, of a substring that keeps its original string in memory. */
export const SLICED = 13

/**
 * Creates a table with one object per word. The table is emptied when it has too many words. ASCII words, which are
 * nearly all words, are found faster than in a `Map`: one cache line is enough to reject most other words.
 */
export function createWordTable() {
  const cells = new Int32Array(SLOTS * CELL)
  const bytes = new Uint8Array(cells.buffer)
  const table: Table = { cells, bytes, words: Array.from({ length: SLOTS }) }
  /** Words that are not ASCII, and words whose slots are all taken. */
  const others = new Map<string, Word>()
  let count = 0

  function make(text: string, isOwn: boolean): Word {
    if (count === MAX_WORDS) {
      table.words.fill(undefined)
      others.clear()
      count = 0
    }
    count++
    const own = isOwn || text.length < SLICED ? text : Buffer.from(text).toString()
    return { text: own, sessionAge: 0, sessions: 0, audienceAge: 0, audiences: 0 }
  }

  function other(text: string, isOwn: boolean): Word {
    const found = others.get(text)
    if (found !== undefined) return found
    const made = make(text, isOwn)
    others.set(made.text, made)
    return made
  }

  function add(text: string, isOwn: boolean, hash: number, place: number): Word {
    const made = make(text, isOwn)
    const cell = place * CELL
    table.words[place] = made
    cells[cell] = hash
    cells[cell + 1] = text.length
    const first = cell * 4 + BYTES_BEFORE
    for (let at = 0; at < Math.min(text.length, BYTES_IN_CELL); at++) bytes[first + at] = text.charCodeAt(at)
    return made
  }

  return {
    /**
     * Returns the object of a word. `isOwn`: whether `text` can be stored without a copy. A substring keeps the string
     * that it comes from in memory.
     */
    word(text: string, isOwn: boolean): Word {
      const hash = hashOf(text)
      if (hash === undefined) return other(text, isOwn)
      const home = (hash ^ (hash >>> 15)) & (SLOTS - 1)
      for (let near = 0; near < MAX_PROBES; near++) {
        const place = (home + near) & (SLOTS - 1)
        const word = table.words[place]
        // At the limit, `add` empties the table first, so the word's home slot is free.
        if (word === undefined) return add(text, isOwn, hash, count < MAX_WORDS ? place : home)
        if (isWordAt(table, place, hash, text)) return word
      }
      return other(text, isOwn)
    },
  }
}

interface Table {
  readonly cells: Int32Array
  readonly bytes: Uint8Array
  readonly words: (Word | undefined)[]
}

/** Returns the hash of a text; undefined if it is not ASCII. */
function hashOf(text: string): number | undefined {
  let [hash, codes] = [HASH_START, 0]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    codes |= code
    hash = Math.imul(hash ^ code, HASH_PRIME)
  }
  return codes < OTHERS ? hash : undefined
}

/** Whether a slot contains the word with this text. */
function isWordAt({ cells, bytes, words }: Table, place: number, hash: number, text: string): boolean {
  const cell = place * CELL
  if (cells[cell] !== hash || cells[cell + 1] !== text.length) return false
  if (text.length > BYTES_IN_CELL) return words[place]?.text === text
  const first = cell * 4 + BYTES_BEFORE
  for (let at = 0; at < text.length; at++) if (bytes[first + at] !== text.charCodeAt(at)) return false
  return true
}
