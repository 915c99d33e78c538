/**
 * Text as search compares it: NFKC, Latin letters without accents, case kept. `offsets[i]` is where unit `i` of `text` comes
 * from in the original; undefined when nothing moved.
 */
export interface FoldedText {
  readonly text: string
  readonly offsets: readonly number[] | undefined
}

const ACCENT = /(\p{Script=Latin})\p{M}+/gu
// oxlint-disable-next-line no-control-regex -- everything outside ASCII
const NOT_ASCII = /[^\u0000-\u007f]/u
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

/** Folds a text so that a place in the result can be shown in the original. */
export function foldWithOffsets(text: string): FoldedText {
  if (!NOT_ASCII.test(text)) return { text, offsets: undefined }
  if (fold(text) === text) return { text, offsets: undefined }
  const offsets: number[] = []
  let folded = ''
  for (const match of text.matchAll(CLUSTER)) {
    const cluster = fold(match[0])
    folded += cluster
    for (let unit = 0; unit < cluster.length; unit++) offsets.push(match.index)
  }
  offsets.push(text.length)
  return { text: folded, offsets }
}

/** Lower case without changing the length, so that offsets stay true. */
export const lower = (text: string): string => {
  const lowered = text.toLowerCase()
  return lowered.length === text.length ? lowered : Array.from(text, lowerOne).join('')
}

const lowerOne = (character: string): string => {
  const lowered = character.toLowerCase()
  return lowered.length === character.length ? lowered : character
}
