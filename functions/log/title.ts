import { cutBefore } from '../domain/session-title.ts'
import { isLeaders, textOf } from '../domain/messages/message.ts'
import type { Message, Part } from '../domain/messages/message.ts'

/** Limit of a title that is made of an input, in UTF-16 units, the final `…` included. */
const MAX_INPUT_TITLE_LENGTH = 80
/** Units of an input that are kept beside its title, for the filter `q` of lists. */
const MAX_OPENING_LENGTH = 4_000
/** Units of an input in which its title is looked for. */
const MAX_SEARCHED_LENGTH = 64 * 1024
/** Units of a line that become a title: marks and spaces may come before the words. */
const MAX_LINE_LENGTH = 4_000

/** The beginning of a session's first input, and the title that it makes. */
export interface Opening {
  readonly title: string
  readonly text: string
}

const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u
const LINE = /[^\n\r\u2028\u2029]+/gu
/** White space and control characters, NUL among them. */
const BLANK = /[\s\p{Cc}]+/gu
/** Marks that begin a line: of quotations, headings and entries of lists. */
const LINE_MARKS = /^(?:(?:>|#{1,6}(?=\s|$)|[-*+](?=\s|$)|\d{1,9}[.)](?=\s))\s*)+/u
/** A link or an image. Its text may hold brackets, and its address parentheses, one level deep. */
const LINK = /!?\[((?:[^[\]]|\[[^[\]]*\])*)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+["'][^"']*["'])?\s*\)/gu
/** Slack's mention of a person, who has an id alone there, as the author of a line or within it. */
const MENTION = /<@[A-Z0-9]{1,32}>:?/gu
/** Backticks, and `*` and `_` beside a word: both stay within a word (`snake_case`, `2*3`) and between spaces. */
const EMPHASIS = /`+|(?<![\p{L}\p{N}])[*_]+(?=\S)|(?<=\S)[*_]+(?![\p{L}\p{N}])/gu

/**
 * The opening that an input makes: the first line that holds a letter or digit, without Markdown marks, is its title. Undefined
 * for an input without such a line, an image for example.
 */
export function openingOf(parts: readonly Part[]): Opening | undefined {
  const text = textOf(parts)
  const title = titleOf(text)
  return title === undefined ? undefined : { title, text: cutBefore(text, MAX_OPENING_LENGTH).toWellFormed() }
}

/** The opening that appended messages make: of the first input of the leader that makes one. */
export function openingOfMessages(messages: readonly Message[]): Opening | undefined {
  for (const message of messages) {
    const opening = message.role === 'user' && isLeaders(message) ? openingOf(message.parts) : undefined
    if (opening !== undefined) return opening
  }
  return undefined
}

/** The title that a text makes; undefined if no line holds a letter or digit. */
export function titleOf(text: string): string | undefined {
  const plain = plainTitle(text)
  return plain === undefined ? undefined : shortened(plain, MAX_INPUT_TITLE_LENGTH)
}

/** The first line that holds a letter or digit, whole, without Markdown marks. */
export function plainTitle(text: string): string | undefined {
  for (const [line] of cutBefore(text, MAX_SEARCHED_LENGTH).matchAll(LINE)) {
    if (!LETTER_OR_DIGIT.test(line)) continue
    const plain = plainLine(cutBefore(line, MAX_LINE_LENGTH).toWellFormed())
    if (LETTER_OR_DIGIT.test(plain)) return plain
  }
  return undefined
}

const folded = (text: string): string => text.replace(BLANK, ' ').trim()

/** A line without Markdown marks and mentions, its white space folded. */
function plainLine(line: string): string {
  const unmarked = folded(line.replace(MENTION, '')).replace(LINE_MARKS, '').replace(LINK, '$1').replace(EMPHASIS, '')
  // Marks of a line may stand within emphasis.
  return folded(unmarked).replace(LINE_MARKS, '')
}

/** A text of at most `most` units: cut between words, or within the first word if that one alone is longer. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text
  const start = cutBefore(text, most - 1)
  const space = text[start.length] === ' ' ? start.length : start.lastIndexOf(' ')
  return `${(space > 0 ? start.slice(0, space) : start).trimEnd()}…`
}
