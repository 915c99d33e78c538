/**
 * Reduces an English word to its stem by Porter's algorithm: `organizer` and `organization` become `organ`. Stems need
 * not be words. Only lower-case ASCII words change.
 */
export function stemOf(word: string): string {
  if (word.length < 3 || !/^[a-z]+$/u.test(word)) return word
  const known = stems.get(word)
  if (known !== undefined) return known
  const stem = [plurals, pastForms, finalY, (text: string) => longSuffixes(text), lastSuffix, finalE].reduce(
    (text, step) => step(text),
    word,
  )
  if (stems.size >= REMEMBERED) stems.clear()
  stems.set(word, stem)
  return stem
}

/** Cache of stems. A search compares the stems of many words that begin alike. */
const stems = new Map<string, string>()
const REMEMBERED = 5_000

const CONSONANT = '(?:[^aeiouy]|(?<=[aeiou])y|^y)'
const VOWEL = '(?:[aeiou]|(?<![aeiou]|^)y)'
const HAS_VOWEL = new RegExp(VOWEL, 'u')
/** Matches stems by their measure: the number of vowel groups that are followed by a consonant. */
const MEASURE_1 = new RegExp(`^${CONSONANT}*${VOWEL}+${CONSONANT}`, 'u')
const MEASURE_ONLY_1 = new RegExp(`^${CONSONANT}*${VOWEL}+${CONSONANT}+${VOWEL}*$`, 'u')
const MEASURE_2 = new RegExp(`^${CONSONANT}*(?:${VOWEL}+${CONSONANT}+){2}`, 'u')
/** Matches a stem that ends in consonant, vowel, consonant, as in `hop`. */
const SHORT = new RegExp(`${CONSONANT}${VOWEL}(?![wxy])${CONSONANT}$`, 'u')

function plurals(word: string): string {
  if (/(?:ss|i)es$/u.test(word)) return word.slice(0, -2)
  return /[^s]s$/u.test(word) ? word.slice(0, -1) : word
}

function pastForms(word: string): string {
  if (word.endsWith('eed')) return MEASURE_1.test(word.slice(0, -3)) ? word.slice(0, -1) : word
  const suffix = /(?:ed|ing)$/u.exec(word)?.[0]
  const stem = suffix === undefined ? '' : word.slice(0, -suffix.length)
  if (stem === '' || !HAS_VOWEL.test(stem)) return word
  if (/(?:at|bl|iz)$/u.test(stem)) return `${stem}e`
  if (/([^aeiouylsz])\1$/u.test(stem)) return stem.slice(0, -1)
  return MEASURE_ONLY_1.test(stem) && SHORT.test(stem) ? `${stem}e` : stem
}

const finalY = (word: string): string =>
  word.endsWith('y') && HAS_VOWEL.test(word.slice(0, -1)) ? `${word.slice(0, -1)}i` : word

/** Suffixes and their replacements, for two rounds of the algorithm. */
const ROUNDS: readonly (readonly (readonly [string, string])[])[] = [
  [
    ...([
      'ational ate',
      'tional tion',
      'enci ence',
      'anci ance',
      'izer ize',
      'abli able',
      'alli al',
      'entli ent',
    ] as const),
    ...(['eli e', 'ousli ous', 'ization ize', 'ation ate', 'ator ate', 'alism al', 'iveness ive'] as const),
    ...(['fulness ful', 'ousness ous', 'aliti al', 'iviti ive', 'biliti ble', 'logi log'] as const),
  ],
  ['icate ic', 'ative ', 'alize al', 'iciti ic', 'ical ic', 'ful ', 'ness '] as const,
].map((round) => round.map((pair) => pair.split(' ') as [string, string]))

function longSuffixes(word: string): string {
  let text = word
  for (const round of ROUNDS) {
    const [suffix, replacement] = round.find(([ending]) => text.endsWith(ending)) ?? []
    const stem = suffix === undefined ? '' : text.slice(0, -suffix.length)
    if (replacement !== undefined && MEASURE_1.test(stem)) text = stem + replacement
  }
  return text
}

const LAST = /(?:ement|ment|ent|ance|ence|able|ible|ant|ism|ate|iti|ous|ive|ize|al|er|ic|ou|(?<=[st])ion)$/u

function lastSuffix(word: string): string {
  const suffix = LAST.exec(word)?.[0]
  const stem = suffix === undefined ? '' : word.slice(0, -suffix.length)
  return stem !== '' && MEASURE_2.test(stem) ? stem : word
}

function finalE(word: string): string {
  const stem = word.slice(0, -1)
  const dropsE = word.endsWith('e') && (MEASURE_2.test(stem) || (MEASURE_1.test(stem) && !SHORT.test(stem)))
  const text = dropsE ? stem : word
  return text.endsWith('ll') && MEASURE_2.test(text.slice(0, -1)) ? text.slice(0, -1) : text
}
