/** Normalised text for comparison: NFKC, Latin letters without accents, case kept. */
export interface FoldedText {
  readonly text: string
  /** Returns the original position of a UTF-16 unit of `text`. */
  original(unit: number): number
}

const ACCENT = /(\p{Script=Latin})\p{M}+/gu
// oxlint-disable-next-line no-control-regex -- everything outside ASCII
const NOT_ASCII = /[^\u0000-\u007f]/u
/** Matches letters outside ASCII, with the ASCII letter before them, because a mark may combine with it. */
// oxlint-disable-next-line no-control-regex -- everything outside ASCII
const NON_ASCII_RANGE = /[\u0000-\u007f]?[^\u0000-\u007f]+/gu
/** Matches one letter or symbol with its combining marks. */
const CLUSTER = /[^\p{M}]?\p{M}+|[^\p{M}]/gsu
/** Latin letters that Unicode does not decompose, with the letters that people type instead. */
const PLAIN: { readonly [letter: string]: string } = {
  ß: 'ss',
  ẞ: 'SS',
  ø: 'o',
  Ø: 'O',
  ł: 'l',
  Ł: 'L',
  đ: 'd',
  Đ: 'D',
  æ: 'ae',
  Æ: 'AE',
  œ: 'oe',
  Œ: 'OE',
  ı: 'i',
}
const ORNATE = new RegExp(`[${Object.keys(PLAIN).join('')}]`, 'gu')

export const isAscii = (text: string): boolean => !NOT_ASCII.test(text)

/** Folds a text without keeping offsets. */
export function fold(text: string): string {
  if (!NOT_ASCII.test(text)) return text
  return text
    .normalize('NFKC')
    .normalize('NFD')
    .replace(ACCENT, '$1')
    .normalize('NFC')
    .replace(ORNATE, (letter) => PLAIN[letter] ?? letter)
}

/** Folds a text and keeps the offset of each position in the original. */
export function foldWithOffsets(text: string): FoldedText {
  if (!NOT_ASCII.test(text)) return { text, original: (place) => place }
  const shifts: Shift[] = []
  // Most letters of a text are repeated, so results are cached.
  const known = new Map<string, string>()
  let folded = ''
  let place = 0
  for (const { 0: stretch, index } of text.matchAll(NON_ASCII_RANGE)) {
    const simple = fold(stretch)
    if (simple === stretch) continue
    folded += text.slice(place, index)
    for (const cluster of stretch.matchAll(CLUSTER)) {
      const plain = known.get(cluster[0]) ?? fold(cluster[0])
      known.set(cluster[0], plain)
      if (plain !== cluster[0])
        shifts.push({
          folded: folded.length,
          original: index + cluster.index,
          units: plain.length,
          from: cluster[0].length,
        })
      folded += plain
    }
    place = index + stretch.length
  }
  if (place === 0) return { text, original: (unit) => unit }
  return { text: folded + text.slice(place), original: (unit) => originalPlace(shifts, unit) }
}

/** One cluster that changed: its position in both texts, and its lengths. */
interface Shift {
  readonly folded: number
  readonly original: number
  readonly units: number
  readonly from: number
}

function originalPlace(shifts: readonly Shift[], unit: number): number {
  const before = shifts.findLast((shift) => shift.folded <= unit)
  if (before === undefined) return unit
  if (unit < before.folded + before.units) return before.original
  return unit - (before.folded + before.units) + before.original + before.from
}

/** The only character whose lower-case form has more UTF-16 units. */
const DOTTED = 'İ'

/** Returns the lower case without changing the length, so that offsets remain valid. */
export const lower = (text: string): string =>
  text
    .split(DOTTED)
    .map((piece) => piece.toLowerCase())
    .join(DOTTED)
