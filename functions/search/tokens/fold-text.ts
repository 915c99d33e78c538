/**
 * Text in normalised form for comparison: NFKC, without marks and without zero-width characters. Upper and lower case
 * are kept.
 */
export interface FoldedText {
  readonly text: string
  /** Returns the original position of a UTF-16 unit of `text`. */
  original(unit: number): number
}

/**
 * Matches marks that people often do not type: accents, points, and the vowel signs and cantillation of Arabic, Hebrew and
 * Syriac. Vowel signs of other scripts are excluded, because people type them like letters (they have the property Alphabetic).
 * Kana marks are excluded, because they make a different letter.
 */
const MARKS =
  /[[[\p{M}--\p{Alphabetic}][\p{M}&&[\p{Script=Inherited}\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}]]]--[\u3099\u309A]]/gv
/** Matches invisible characters, and the Arabic character that only lengthens a word. */
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cf}\u0640]/gu
// oxlint-disable-next-line no-control-regex -- everything outside ASCII
const NOT_ASCII = /[^\u0000-\u007f]/u
/** Matches characters outside ASCII, and the ASCII character directly before them. A mark may combine with the latter. */
// oxlint-disable-next-line no-control-regex -- everything outside ASCII
const NON_ASCII_RANGE = /[\u0000-\u007f]?[^\u0000-\u007f]+/gu
/**
 * Matches one letter or symbol with the characters that may combine with it: marks, the parts of a Korean syllable, half-width
 * kana marks.
 */
const CLUSTER =
  /[\u1100-\u115F\uA960-\uA97C\uAC00-\uD7A3][\p{M}\p{Default_Ignorable_Code_Point}\u0640\u1160-\u11FF\uD7B0-\uD7FB]*|[^\p{M}][\p{M}\p{Default_Ignorable_Code_Point}\u0640\uFF9E\uFF9F]*|[\p{M}\p{Default_Ignorable_Code_Point}]+/gsu
/**
 * Letters that Unicode does not decompose (ligatures, and letters with strokes, hooks or descenders), each with the letters that
 * people type instead.
 */
const PLAIN_LETTERS =
  'ß:ss æ:ae œ:oe ĳ:ij ø:o ɵ:o ł:l ƚ:l ɫ:l ɬ:l đ:d ð:d ɖ:d ɗ:d ƌ:d þ:th ħ:h ɦ:h ŧ:t ƭ:t ʈ:t ŋ:n ɲ:n ƞ:n ı:i ɨ:i ȷ:j ɉ:j ƀ:b ɓ:b ƃ:b ' +
  'ƈ:c ȼ:c ɇ:e ƒ:f ɠ:g ǥ:g ƙ:k ƥ:p ɍ:r ʂ:s ȿ:s ʉ:u ʋ:v ƴ:y ɏ:y ƶ:z ȥ:z ɀ:z ґ:г ғ:г ҕ:г ҙ:з ҡ:к қ:к ҝ:к ҟ:к ң:н ө:о ҫ:с ҭ:т ұ:ү ҳ:х ҷ:ч ҹ:ч ѳ:ф'
const PLAIN: ReadonlyMap<string, string> = new Map(
  PLAIN_LETTERS.split(' ').flatMap((pair) => {
    const [letter = '', plain = ''] = pair.split(':')
    const capital = letter === 'ß' ? 'ẞ' : letter.toUpperCase()
    return capital.length > 1 || letter === 'ı'
      ? [[letter, plain]]
      : [
          [letter, plain],
          [capital, plain.toUpperCase()],
        ]
  }),
)
const ORNATE = new RegExp(`[${[...PLAIN.keys()].join('')}]`, 'gu')

export const isAscii = (text: string): boolean => !NOT_ASCII.test(text)

/** Folds a text without keeping offsets. */
export function fold(text: string): string {
  if (!NOT_ASCII.test(text)) return text
  return text
    .normalize('NFKD')
    .replaceAll(UNSEEN, '')
    .replaceAll(MARKS, '')
    .normalize('NFC')
    .replaceAll(ORNATE, (letter) => PLAIN.get(letter) ?? letter)
}

/** Folds a text and keeps the offset of each position in the original. */
export function foldWithOffsets(text: string): FoldedText {
  if (!NOT_ASCII.test(text)) return { text, original: (place) => place }
  const shifts: Shift[] = []
  // Most letters of a text occur repeatedly, so results are cached.
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

/** Returns the text in lower case without changing its length, so that offsets remain valid. */
export const lower = (text: string): string =>
  text.includes(DOTTED)
    ? text
        .split(DOTTED)
        .map((piece) => piece.toLowerCase())
        .join(DOTTED)
    : text.toLowerCase()
