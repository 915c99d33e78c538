import { sentencesOf, type Sentence } from './sentences.ts'

/** Openers that replace the subject by a pronoun or a question, each with a better opener. */
const OPENERS: [RegExp, string][] = [
  [/^What\b(?!.*\?)/, 'name the thing: "The stored outcome of …"'],
  [/^Of\b/, 'begin with the noun: "Counters of …"'],
  [/^(?:Whoever|Somebody|Nobody)\b/, 'the holder, the caller, another process'],
  [/^The same\b/, 'repeat the noun'],
  [/^(?:Those|That of|These of)\b/, 'repeat the noun'],
]

/** Vague words, each with the terms of the field to use instead. */
const WORDS: [RegExp, string][] = [
  [/\b(?:told|tells)\b/i, 'emit, send, notify, report, say'],
  [/\bsomebody\b/i, 'a client, a person, another process'],
  [/\bwhoever\b/i, 'the holder, the caller'],
  [/\bnobody\b/i, 'no process, no client, no person'],
  [/\bso many\b/i, 'put the number or the unit into the name'],
  [/\b(?:comes|came) to\b/i, 'results in, returns, is'],
  [/\bstands\b/i, 'is, stalls, is stored'],
  [/\bgiven back\b/i, 'released, returned'],
  [/\bgoes on\b/i, 'continues, resumes'],
  [/\bat the most\b/i, 'at most'],
  [/\bin between\b/i, 'between … and …, meanwhile'],
  [/\bas far as\b/i, 'up to, if'],
]

/**
 * The style guide allows 20 words a sentence (CONTRIBUTING.md, "Style"). The limits here are higher, because names in code and
 * paths count as words, too. A sentence that exceeds them has two ideas. The limit for pages is lower than that for comments,
 * because readers of pages do not see the code.
 */
const MAX_COMMENT_WORDS = 30
const MAX_PROSE_WORDS = 25
const MAX_CELL_WORDS = 20
const MAX_TEST_NAME_WORDS = 18
/** Five lines of 120 characters. */
const MAX_PARAGRAPH_CHARACTERS = 600

const MAX_WORDS = {
  comment: MAX_COMMENT_WORDS,
  prose: MAX_PROSE_WORDS,
  cell: MAX_CELL_WORDS,
  'test name': MAX_TEST_NAME_WORDS,
  paragraph: Infinity,
}

const countWords = (text: string): number => text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length

/** Faults of a sentence, each with its replacement. Empty if there are none. */
export function faultsOf({ kind, text }: Sentence): string[] {
  if (kind === 'paragraph')
    return text.length > MAX_PARAGRAPH_CHARACTERS
      ? [`${text.length} characters; the limit of a paragraph is ${MAX_PARAGRAPH_CHARACTERS}: split it`]
      : []
  const words = countWords(text)
  const starts = kind === 'cell' ? sentencesOf(text) : [text]
  return [
    ...OPENERS.filter(([pattern]) => starts.some((start) => pattern.test(start))).map(
      ([pattern, instead]) => `opener ${pattern.source}: ${instead}`,
    ),
    ...WORDS.filter(([pattern]) => pattern.test(text)).map(
      ([pattern, instead]) => `"${pattern.exec(text)?.[0]}": ${instead}`,
    ),
    ...(words > MAX_WORDS[kind] ? [`${words} words; the limit of a ${kind} is ${MAX_WORDS[kind]}: split it`] : []),
  ]
}
