/**
 * Who has a word, or all words of a run, as bits that whoever keeps vocabularies has given out: to sessions, and to their
 * owners and tenants. Those of another age say nothing.
 */
export interface Marks {
  sessionAge: number
  sessions: number
  audienceAge: number
  audiences: number
}

/** A word that a vocabulary takes, mostly one value wherever it stands. */
export interface Word extends Marks {
  readonly text: string
}

/** Words that are remembered. With their strings they take some 30 MB of memory. */
const MAX_WORDS = 150_000
/** Places for them: a power of two. */
const PLACES = 262_144
/** Places at which a word may stand: looking for one takes no longer, whatever a text holds. */
const NEAR = 8
/** A place is half a line of the processor's cache: hash, length, and the first bytes. */
const CELL = 8
const BYTES_BEFORE = 8
const BYTES_IN_CELL = 24

const HASH_START = 0x811c9dc5
const HASH_PRIME = 0x01000193
/** The first code that is not of ASCII. */
const OTHERS = 0x80
/** Characters from which on a piece of a string keeps all of it in memory. */
export const SLICED = 13

/**
 * Remembers words, each as one value, until there are too many of them: then it begins anew. Words of ASCII, which are nearly
 * all, are found faster than in a map: most are told from others by what one line of the cache says.
 */
export function createWordTable() {
  const cells = new Int32Array(PLACES * CELL)
  const bytes = new Uint8Array(cells.buffer)
  const table: Table = { cells, bytes, words: Array.from({ length: PLACES }) }
  /** Those of other letters, and those whose places are taken. */
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
    /** The word that has this text. `isOwn`: the text is no piece of another that would be kept in memory with it. */
    word(text: string, isOwn: boolean): Word {
      const hash = hashOf(text)
      if (hash === undefined) return other(text, isOwn)
      const home = (hash ^ (hash >>> 15)) & (PLACES - 1)
      for (let near = 0; near < NEAR; near++) {
        const place = (home + near) & (PLACES - 1)
        const word = table.words[place]
        // If there are too many, the table is empty by then.
        if (word === undefined) return add(text, isOwn, hash, count < MAX_WORDS ? place : home)
        if (stands(table, place, hash, text)) return word
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

/** Undefined for a text that is not ASCII. */
function hashOf(text: string): number | undefined {
  let [hash, codes] = [HASH_START, 0]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    codes |= code
    hash = Math.imul(hash ^ code, HASH_PRIME)
  }
  return codes < OTHERS ? hash : undefined
}

/** Whether the word at a place is this one. */
function stands({ cells, bytes, words }: Table, place: number, hash: number, text: string): boolean {
  const cell = place * CELL
  if (cells[cell] !== hash || cells[cell + 1] !== text.length) return false
  if (text.length > BYTES_IN_CELL) return words[place]?.text === text
  const first = cell * 4 + BYTES_BEFORE
  for (let at = 0; at < text.length; at++) if (bytes[first + at] !== text.charCodeAt(at)) return false
  return true
}
