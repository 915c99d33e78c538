import { irregularForms } from './irregular-forms.ts'

const VOWEL = /[aeiou]/u

/** Returns English inflections of a word, and the words of which it may be an inflection. Not all of them exist. */
export function inflections(word: string): string[] {
  const irregular = irregularForms(word)
  if (word.length < 4 || !/^[a-z]+$/u.test(word)) return [...irregular]
  const forms = new Set(irregular)
  for (const stem of stems(word)) {
    forms.add(stem)
    for (const form of endings(stem)) forms.add(form)
  }
  forms.delete(word)
  return [...forms].filter((form) => form.length >= 3 || irregular.includes(form))
}

/** Returns the possible stems of a word, including the word itself. */
function stems(word: string): string[] {
  const found = [word]
  const cut = (length: number, ...suffixes: string[]): void => {
    for (const suffix of suffixes) found.push(word.slice(0, word.length - length) + suffix)
  }
  if (word.endsWith('ies')) cut(3, 'y', 'ie')
  else if (/(?:s|x|z|ch|sh|o)es$/u.test(word)) cut(2, '', 'e')
  else if (/[^su]s$/u.test(word)) cut(1, '')
  if (word.endsWith('ied')) cut(3, 'y')
  else if (word.endsWith('ed') && word.length > 4) {
    cut(2, '', 'e')
    if (isDoubled(word, 2)) cut(3, '')
  }
  if (word.endsWith('ing') && word.length > 5) {
    cut(3, '', 'e')
    if (isDoubled(word, 3)) cut(4, '')
  }
  return found.filter((stem) => stem.length >= 3 && VOWEL.test(stem.replace(/y/gu, 'i')))
}

function endings(stem: string): string[] {
  if (/[^aeiou]y$/u.test(stem)) {
    const base = stem.slice(0, -1)
    return [`${base}ies`, `${base}ied`, `${stem}ing`, `${stem}s`]
  }
  if (stem.endsWith('e')) return [`${stem}s`, `${stem}d`, `${stem.slice(0, -1)}ing`]
  const plural = /(?:s|x|z|ch|sh)$/u.test(stem) ? `${stem}es` : `${stem}s`
  const doubled = /[^aeiou][aeiou][bdgklmnprt]$/u.test(stem) ? `${stem}${stem.slice(-1)}` : stem
  return [plural, `${stem}ed`, `${stem}ing`, `${doubled}ed`, `${doubled}ing`]
}

const isDoubled = (word: string, ending: number): boolean =>
  word.at(-ending - 1) === word.at(-ending - 2) && !VOWEL.test(word.at(-ending - 1) ?? '')

/** Returns the candidates that are one typo away from `word`: a letter changed, missing or added, or two swapped. */
export function similarWords(word: string, candidates: readonly string[]): string[] {
  return candidates.filter((candidate) => candidate !== word && withinOneTypo(word, candidate))
}

/** Whether the Damerau distance is at most one. Compares UTF-16 units. */
export function withinOneTypo(left: string, right: string): boolean {
  const [short, long] = left.length <= right.length ? [left, right] : [right, left]
  if (long.length - short.length > 1) return false
  let start = 0
  while (start < short.length && short[start] === long[start]) start++
  if (short.length < long.length) return short.slice(start) === long.slice(start + 1)
  if (short.slice(start + 1) === long.slice(start + 1)) return true
  return (
    short[start] === long[start + 1] &&
    short[start + 1] === long[start] &&
    short.slice(start + 2) === long.slice(start + 2)
  )
}

/** Returns every word of plain letters and digits that is one typo away from a short word. */
export function typosOf(word: string): string[] {
  const letters = Array.from(word)
  const typos = new Set<string>()
  for (let place = 0; place <= letters.length; place++) {
    const before = letters.slice(0, place).join('')
    const after = letters.slice(place)
    typos.add(before + after.slice(1).join(''))
    if (after.length > 1) typos.add(`${before}${after[1]}${after[0]}${after.slice(2).join('')}`)
    for (const letter of TYPED) {
      typos.add(before + letter + after.join(''))
      typos.add(before + letter + after.slice(1).join(''))
    }
  }
  typos.delete(word)
  return [...typos]
}
const TYPED = 'abcdefghijklmnopqrstuvwxyz0123456789'
