import { readAscii } from './ascii-runs.ts'
import { fold, isAscii, lower } from './fold-text.ts'

/** The tokens of a text for search. Both lists are in text order; `extra` has no duplicates. */
export interface Tokens {
  /** Words: runs split at their joiners, and pairs of characters for CJK. */
  readonly words: readonly string[]
  /**
   * Alternative tokens for the positions of the words: whole identifiers, their camelCase parts, joined forms, and
   * single CJK characters.
   */
  readonly extra: readonly string[]
}

const LETTERS = String.raw`[\p{L}\p{N}][\p{L}\p{N}\p{M}]*`
/** Matches letters and digits with the characters that join identifiers, paths, addresses and numbers. */
export const RUN = new RegExp(String.raw`${LETTERS}(?:[-_./:@+#~]+${LETTERS})*`, 'gu')
export const JOINERS = /[-_./:@+#~]+/u
const CJK = String.raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー々〆]`
const CJK_OR_OTHER = new RegExp(`${CJK}+|(?:(?!${CJK}).)+`, 'gsu')
const HAS_CJK = new RegExp(CJK, 'u')
/** Matches the borders in `aB` and `ABc`. */
const CASE_BORDER = /(?<=[\p{Ll}\p{Lo}\p{N}])(?=\p{Lu}\p{Ll})|(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u
/**
 * Matches letters followed by digits, or digits followed by letters. A word with more changes between letters and
 * digits is a code, whose parts are not searched.
 */
const NUMBERED = /^(\p{L}+)(\p{N}+)$|^(\p{N}+)(\p{L}+)$/u
export const SYMBOL = /[\p{Extended_Pictographic}\p{S}]|[^\s\p{L}\p{N}\p{M}\p{C}]/gu
export const EMOJI = /\p{Extended_Pictographic}|\p{So}/u

export const MAX_WHOLE = 80
/** Maximum characters of a word. Longer ones (encoded data) are split. */
export const MAX_WORD = 64
export const MAX_PARTS = 8

/** Returns the tokens of a text, both for indexing and for queries. */
export function tokenize(text: string): Tokens {
  const folded = fold(text)
  const words: string[] = []
  const extra = new Set<string>()
  // Most words of a text occur repeatedly, so results are cached.
  const known = new Map<string, readonly string[]>()
  const take = (run: string): void => {
    const found = known.get(run) ?? readRun(run, extra)
    known.set(run, found)
    words.push(...found)
  }
  if (isAscii(folded)) {
    const symbols = readAscii(folded, { longest: MAX_WORD, word: (word) => void words.push(word), run: take })
    for (const symbol of symbols) extra.add(symbolToken(symbol))
    return { words, extra: [...extra] }
  }
  for (const [run] of folded.matchAll(RUN)) take(run)
  for (const [symbol] of folded.matchAll(SYMBOL)) {
    if (EMOJI.test(symbol)) words.push(symbolToken(symbol))
    else extra.add(symbolToken(symbol))
  }
  return { words, extra: [...extra] }
}

/** Returns a symbol as a token. ASCII symbols get their full-width form, which never occurs in folded words. */
export function symbolToken(symbol: string): string {
  const code = symbol.charCodeAt(0)
  return symbol.length === 1 && code > 0x20 && code < 0x7f ? String.fromCharCode(code + 0xfee0) : symbol
}

/** Returns the words of one run. */
export function wordsOf(run: string): string[] {
  return run.split(JOINERS).flatMap((piece) => pieceWords(piece))
}

/** Splits a word at its camelCase and acronym borders, in lower case. A word without borders is the only part. */
export function camelParts(word: string): string[] {
  return word.split(CASE_BORDER).map(lower)
}

function pieceWords(piece: string): string[] {
  if (!HAS_CJK.test(piece)) return chop(lower(piece))
  return Array.from(piece.matchAll(CJK_OR_OTHER), ([part]) => part).flatMap((part) =>
    HAS_CJK.test(part) ? bigrams(part) : chop(lower(part)),
  )
}

function chop(word: string): string[] {
  if (word.length <= MAX_WORD) return [word]
  const characters = Array.from(word)
  const pieces: string[] = []
  for (let start = 0; start < characters.length; start += MAX_WORD)
    pieces.push(characters.slice(start, start + MAX_WORD).join(''))
  return pieces
}

function bigrams(text: string): string[] {
  const characters = Array.from(lower(text))
  if (characters.length === 1) return characters
  return characters.slice(1).map((character, index) => (characters[index] ?? '') + character)
}

/** Returns the words of a run, and adds its alternative tokens to `extra`. */
export function readRun(run: string, extra: Set<string>): string[] {
  const pieces = run.split(JOINERS)
  const words = pieces.flatMap((piece) => pieceWords(piece))
  for (const piece of pieces) addInner(piece, extra)
  if (pieces.length === 1) return words
  if (run.length <= MAX_WHOLE) extra.add(lower(run))
  for (const segment of run.split(/[/:@#]+/u)) {
    if (!JOINERS.test(segment) || segment.length > MAX_WHOLE) continue
    extra.add(lower(segment))
    for (const identifier of segment.split(/[.+~]+/u)) if (/[-_]/u.test(identifier)) extra.add(joined(identifier))
  }
  return words
}

/** Joins the parts of an identifier to one word: `include_dirs`, `include-dirs` and `includeDirs` become equal. */
export const joined = (identifier: string): string => lower(identifier.replace(/[^\p{L}\p{N}\p{M}]+/gu, ''))

function addInner(piece: string, extra: Set<string>): void {
  if (piece.length > MAX_WORD) return
  if (HAS_CJK.test(piece)) {
    for (const character of piece) if (HAS_CJK.test(character)) extra.add(character)
    return
  }
  const parts = camelParts(piece)
  if (parts.length > MAX_PARTS) return
  if (parts.length >= 2) for (const part of parts) extra.add(part)
  for (const part of parts)
    for (const half of NUMBERED.exec(part)?.slice(1) ?? []) if (half !== undefined) extra.add(half)
}
