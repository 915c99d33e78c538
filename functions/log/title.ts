import { cutBefore } from '../domain/session-title.ts'
import { isLeaders, textOf } from '../domain/messages/message.ts'
import type { Message, Part } from '../domain/messages/message.ts'

/** Maximum length of a title that is made of an input, in UTF-16 units, including the final `…`. */
const MAX_INPUT_TITLE_LENGTH = 80
/**
 * Maximum length, in UTF-16 units, of an input's beginning, which is stored with the title. The filter `q` of lists searches
 * this beginning.
 */
const MAX_OPENING_LENGTH = 4_000
/** Maximum length, in UTF-16 units, of the beginning of an input in which a title is searched for. */
const MAX_SEARCHED_LENGTH = 64 * 1024
/**
 * Only this many UTF-16 units of a line are used for a title. The limit exceeds a title's length, because marks and spaces may
 * precede the words.
 */
const MAX_LINE_LENGTH = 4_000

/** The beginning of a session's first input, and the title made of it. */
export interface Opening {
  readonly title: string
  readonly text: string
}

const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u
const LINE = /[^\n\r\u2028\u2029]+/gu
/** Matches white space and control characters, including NUL. */
const BLANK = /[\s\p{Cc}]+/gu
/** Matches marks at the beginning of a line: quotations, headings and list items. */
const LINE_MARKS = /^(?:(?:>|#{1,6}(?=\s|$)|[-*+](?=\s|$)|\d{1,9}[.)](?=\s))\s*)+/u
/** Matches a link or an image. Its text may contain brackets, and its address parentheses, one level deep. */
const LINK = /!?\[((?:[^[\]]|\[[^[\]]*\])*)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+["'][^"']*["'])?\s*\)/gu
/** Matches Slack's mention of a person by id, at the beginning of a line or within it. */
const MENTION = /<@[A-Z0-9]{1,32}>:?/gu
/**
 * Matches backticks, and `*` and `_` at the edge of a word. Within a word (`snake_case`, `2*3`) and between spaces,
 * they are kept.
 */
const EMPHASIS = /`+|(?<![\p{L}\p{N}])[*_]+(?=\S)|(?<=\S)[*_]+(?![\p{L}\p{N}])/gu

/**
 * Returns the opening of an input. Its title is the first line with a letter or digit, without Markdown marks.
 * Undefined for an input without such a line, such as an image.
 */
export function openingOf(parts: readonly Part[]): Opening | undefined {
  const text = textOf(parts)
  const title = titleOf(text)
  return title === undefined ? undefined : { title, text: cutBefore(text, MAX_OPENING_LENGTH).toWellFormed() }
}

/** Returns the opening of the first input among these messages that has an opening. Only inputs to the leader count. */
export function openingOfMessages(messages: readonly Message[]): Opening | undefined {
  for (const message of messages) {
    const opening = message.role === 'user' && isLeaders(message) ? openingOf(message.parts) : undefined
    if (opening !== undefined) return opening
  }
  return undefined
}

/** Returns the title of a text; undefined if no line has a letter or digit. */
export function titleOf(text: string): string | undefined {
  const plain = plainTitle(text)
  return plain === undefined ? undefined : shortened(plain, MAX_INPUT_TITLE_LENGTH)
}

/** Returns the first line with a letter or digit, without Markdown marks. */
export function plainTitle(text: string): string | undefined {
  for (const [line] of cutBefore(text, MAX_SEARCHED_LENGTH).matchAll(LINE)) {
    if (!LETTER_OR_DIGIT.test(line)) continue
    const plain = plainLine(cutBefore(line, MAX_LINE_LENGTH).toWellFormed())
    if (LETTER_OR_DIGIT.test(plain)) return plain
  }
  return undefined
}

const folded = (text: string): string => text.replace(BLANK, ' ').trim()

/** Removes Markdown marks and mentions from a line, and normalises its white space. */
function plainLine(line: string): string {
  const unmarked = folded(line.replace(MENTION, '')).replace(LINE_MARKS, '').replace(LINK, '$1').replace(EMPHASIS, '')
  // Line marks may have been inside emphasis, so line marks are removed again after the emphasis.
  return folded(unmarked).replace(LINE_MARKS, '')
}

/** Truncates a text to at most `most` units, between words, or within the first word if it is too long. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text
  const start = cutBefore(text, most - 1)
  const space = text[start.length] === ' ' ? start.length : start.lastIndexOf(' ')
  return `${(space > 0 ? start.slice(0, space) : start).trimEnd()}…`
}
