/** Text as search compares it: NFKC, Latin letters without accents, case kept. */
export interface FoldedText {
  readonly text: string
  /** Where a UTF-16 unit of `text` comes from. */
  original(unit: number): number
}

const ACCENT = /(\p{Script=Latin})\p{M}+/gu
// oxlint-disable-next-line no-control-regex -- everything outside ASCII
const NOT_ASCII = /[^\u0000-\u007f]/u
/** Letters that may change, with the ASCII letter that a mark may combine with. */
// oxlint-disable-next-line no-control-regex -- everything outside ASCII
const STRETCH = /[\u0000-\u007f]?[^\u0000-\u007f]+/gu
/** One letter or symbol with the marks that combine with it. */
const CLUSTER = /[^\p{M}]?\p{M}+|[^\p{M}]/gsu
/** Latin letters that Unicode does not decompose, and that people type without their ornament. */
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

/** Folds a text whose positions do not matter. */
export function fold(text: string): string {
  if (!NOT_ASCII.test(text)) return text
  return text
    .normalize('NFKC')
    .normalize('NFD')
    .replace(ACCENT, '$1')
    .normalize('NFC')
    .replace(ORNATE, (letter) => PLAIN[letter] ?? letter)
}

/** Folds a text so that a place in the result can be found in the original. */
export function foldWithOffsets(text: string): FoldedText {
  if (!NOT_ASCII.test(text)) return { text, original: (place) => place }
  const shifts: Shift[] = []
  // Most letters of a text are repetitions.
  const known = new Map<string, string>()
  let folded = ''
  let place = 0
  for (const { 0: stretch, index } of text.matchAll(STRETCH)) {
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

/** One cluster that changed: where it begins in both texts, and its lengths. */
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

/** The only character whose lower case is longer. */
const DOTTED = 'İ'

/** Lower case without changing the length, so that offsets stay true. */
export const lower = (text: string): string =>
  text
    .split(DOTTED)
    .map((piece) => piece.toLowerCase())
    .join(DOTTED)
