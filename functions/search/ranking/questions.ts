import type { PlannedTerm } from '../query/plan.ts'
import type { Match } from '../query/term-matches.ts'

/** Characters after a match in which the end of its sentence is searched. */
const MAX_SENTENCE = 400
const SENTENCE_END = /[.!?。！？\n](?=\s|$|[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}])/u

/**
 * Returns the share of a text's matched terms that are in a question: their best match is in a sentence that ends with
 * a question mark. Terms are weighted by their importance. `matches` has the matches of each term.
 */
export function shareInQuestions(
  terms: readonly PlannedTerm[],
  matches: readonly (readonly Match[])[],
  text: string,
): number {
  if (!/[?？]/u.test(text)) return 0
  let [asked, all] = [0, 0]
  for (const [index, { importance }] of terms.entries()) {
    const [first, ...others] = matches[index] ?? []
    if (first === undefined) continue
    const best = others.reduce((one, other) => (other.quality > one.quality ? other : one), first)
    const sentence = text.slice(best.end, best.end + MAX_SENTENCE)
    all += importance
    if (/[?？]/u.test(SENTENCE_END.exec(sentence)?.[0] ?? '')) asked += importance
  }
  return all === 0 ? 0 : asked / all
}
