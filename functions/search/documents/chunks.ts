/** Characters (UTF-16 units) of a chunk, and how many of them the next one repeats. */
const CHUNK = 4_000
const OVERLAP = 150
/** A chunk that ends at a line's or a word's end has this share of the characters at least. */
const FULL = 0.75
/** Characters that any chunk but the last has for itself, or more. */
export const MIN_CHUNK_CHARACTERS = 2_500

/** Cuts a text that comes in pieces. */
export interface Chunker {
  /** Returns the chunks that are complete with this piece. */
  take(piece: string): string[]
  /** Returns the last chunk. */
  end(): string[]
}

/** Cuts at a line's end, else at a space, never inside a character. Keeps no more than a chunk and a piece. */
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

/** Where the first chunk of a longer text ends: in the last quarter after a newline, else after a space, else when it is full. */
function cut(text: string): number {
  for (const separator of ['\n', ' ']) {
    const place = text.slice(0, CHUNK).lastIndexOf(separator)
    if (place >= CHUNK * FULL) return place + 1
  }
  return boundary(text, CHUNK)
}

/** Steps back where `place` would divide a surrogate pair. */
function boundary(text: string, place: number): number {
  const code = text.charCodeAt(place)
  const before = text.charCodeAt(place - 1)
  return code >= 0xdc00 && code <= 0xdfff && before >= 0xd800 && before <= 0xdbff ? place - 1 : place
}
