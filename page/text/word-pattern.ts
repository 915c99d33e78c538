/** Maximum number and maximum length of the words in an address; further or longer words are ignored. */
const MAX_WORDS = 16
const MAX_WORD_CHARACTERS = 64
/**
 * Minimum length, in characters, of a word that is marked inside longer words. A shorter word is marked only as a whole
 * word.
 */
const MIN_PART_CHARACTERS = 4

/** Builds the pattern of words that are separated by white space; undefined without a word. */
export function patternOf(text: string): RegExp | undefined {
  const all = text.split(/\s+/u).filter((word) => word !== '' && word.length <= MAX_WORD_CHARACTERS)
  const words = [...new Set(all)].slice(0, MAX_WORDS).toSorted((left, right) => right.length - left.length)
  if (words.length === 0) return undefined
  const choices = words.map((word) => {
    const literal = word.replaceAll(/[\\^$.*+?()[\]{}|]/gu, String.raw`\$&`)
    const isAlone = word.length < MIN_PART_CHARACTERS && /^[\p{Script=Latin}\p{N}]+$/u.test(word)
    return isAlone ? String.raw`(?<![\p{L}\p{N}])${literal}(?![\p{L}\p{N}])` : literal
  })
  return new RegExp(choices.join('|'), 'giu')
}

/** Whether the text has a word to mark. */
export const hasMark = (text: string, pattern: RegExp | undefined): boolean =>
  pattern !== undefined && text.search(pattern) !== -1
