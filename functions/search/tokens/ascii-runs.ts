/** Kinds of ASCII characters, as bits. */
export const LOWER = 1
export const UPPER = 2
export const DIGIT = 4
export const JOINER = 8
export const SYMBOL = 16
export const IN_WORD = LOWER | UPPER | DIGIT

/** The kind of each ASCII character. */
export const KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  if (/[a-z]/.test(character)) return LOWER
  if (/[A-Z]/.test(character)) return UPPER
  if (/[0-9]/.test(character)) return DIGIT
  if (/[-_./:@+#~]/.test(character)) return JOINER | SYMBOL
  return code > 0x20 && code < 0x7f ? SYMBOL : 0
})

interface Reader {
  /** Maximum characters of a plain word. */
  readonly longest: number
  /** Receives a plain run: only lower-case letters, or only digits. */
  word(word: string): void
  /** Receives any other run. */
  run(run: string): void
}

/**
 * Finds the runs of an ASCII text (`RUN` of `tokens.ts`). Returns the text's symbols without duplicates. This
 * function is several times as fast as regular expressions.
 */
export function readAscii(text: string, { longest, word, run }: Reader): Set<string> {
  const symbols = new Set<string>()
  const seen = new Uint8Array(128)
  for (let at = 0; at < text.length;) {
    const code = text.charCodeAt(at)
    const kind = KINDS[code] ?? 0
    if ((kind & IN_WORD) !== 0) {
      const { end, kinds } = runAt(text, at)
      const found = text.slice(at, end)
      if ((kinds === LOWER || kinds === DIGIT) && found.length <= longest) word(found)
      else run(found)
      for (let inside = at; (kinds & JOINER) !== 0 && inside < end; inside++) note(text.charCodeAt(inside))
      at = end
    } else {
      note(code)
      at++
    }
  }
  return symbols

  function note(code: number): void {
    if (seen[code] === 1 || ((KINDS[code] ?? 0) & SYMBOL) === 0) return
    seen[code] = 1
    symbols.add(String.fromCharCode(code))
  }
}

/** Returns the end of the run that begins at `start`, and the kinds of its characters. */
function runAt(text: string, start: number): { readonly end: number; readonly kinds: number } {
  let [end, kinds, joiner] = [start, 0, 0]
  for (let at = start; at < text.length; at++) {
    const kind = KINDS[text.charCodeAt(at)] ?? 0
    if ((kind & IN_WORD) !== 0) {
      kinds |= kind | joiner
      joiner = 0
      end = at + 1
    } else if ((kind & JOINER) !== 0) joiner = JOINER
    else break
  }
  return { end, kinds }
}
