/**
 * `CHUNK`: characters (UTF-16 units) of a chunk. `OVERLAP`: characters at the end of a chunk that the next chunk
 * repeats.
 */
const CHUNK = 4_000
const OVERLAP = 150
/** A chunk may end early, after a line or a word, if it has at least this share of `CHUNK` characters. */
const FULL = 0.75
/**
 * Minimum number of new characters in each chunk except the last. Characters that are repeated from the previous chunk
 * are not new.
 */
export const MIN_CHUNK_CHARACTERS = 2_500

/** Splits a text that arrives in pieces into chunks. */
export interface Chunker {
  /** Returns the chunks that this piece completes. */
  take(piece: string): string[]
  /** Returns the last chunk. */
  end(): string[]
}

/**
 * Creates a chunker. It splits a text at a line's end, or else at a space, and never inside a character. It keeps at
 * most one chunk and one piece in memory.
 */
export function createChunker(): Chunker {
  let rest = ''
  return {
    take(piece) {
      rest += piece
      const chunks: string[] = []
      while (rest.length > CHUNK) {
        const end = cut(rest)
        chunks.push(rest.slice(0, end).toWellFormed())
        rest = rest.slice(boundary(rest, end - OVERLAP))
      }
      return chunks
    },
    end: () => (rest === '' ? [] : [rest.toWellFormed()]),
  }
}

/**
 * Returns the end of the first chunk of a longer text. The end is after the last newline in the last quarter of the
 * chunk. Without such a newline, the end is after the last space in that quarter, or else at `CHUNK` characters.
 */
function cut(text: string): number {
  for (const separator of ['\n', ' ']) {
    const place = text.slice(0, CHUNK).lastIndexOf(separator)
    if (place >= CHUNK * FULL) return place + 1
  }
  return boundary(text, CHUNK)
}

/** Returns `place`, or one less if `place` would split a surrogate pair. */
function boundary(text: string, place: number): number {
  const code = text.charCodeAt(place)
  const before = text.charCodeAt(place - 1)
  return code >= 0xdc00 && code <= 0xdfff && before >= 0xd800 && before <= 0xdbff ? place - 1 : place
}
