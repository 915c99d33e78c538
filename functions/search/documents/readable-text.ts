import type { HistoryRole } from '../../domain/history.ts'

/** Matches a link or an image. Its text is kept, and its address is removed. */
const LINK = /!?\[([^[\]]*)\]\([^()\s]*\)/gu
const HEADING = /(^|\s)#{1,6}\s+(?=\S)/gu
const QUOTATION = /^(?:>\s*)+/u
/** Matches pairs of Markdown marks around words. Marks of code are kept: `**kwargs`, a pattern of paths, `__init__`. */
const STRONG =
  /(?<![\p{L}\p{N}*/.])(\*{1,3}|~~)(?=[«"“(]?[\p{L}\p{N}])((?:(?!\1).)+?)(?<=[\p{L}\p{N}»"”).!?:…])\1(?![\p{L}\p{N}*/])/gu
const LIGHT = /(?<![\p{L}\p{N}_])_(?=[«"“(]?[\p{L}\p{N}])([^_]+?)(?<=[\p{L}\p{N}»"”).!?…])_(?![\p{L}\p{N}_])/gu
const BACKTICKS = /`+/gu

const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))/gu
const BLANKS = 'bfnrt'
/**
 * Matches text that indicates JSON: an escaped quotation mark, or the end of a string before a structural character.
 */
const JSON_TEXT = /\\"|"\s*[:,}\]]/u

/**
 * Makes a snippet readable, on one line. In texts of a conversation, Markdown marks are removed. In calls and JSON
 * results, each escape is replaced by its character. The marks around matched words are kept.
 */
export function readableText(role: HistoryRole, text: string): string {
  const isTool = role === 'tool_call' || role === 'tool_result'
  const readable = isTool ? (role === 'tool_call' || JSON_TEXT.test(text) ? unescaped(text) : text) : unmarked(text)
  return readable.replace(/\s+/gu, ' ').trim().toWellFormed()
}

const unescaped = (text: string): string =>
  text.replace(ESCAPE, (_, code: string | undefined, sign = '') =>
    code === undefined ? (BLANKS.includes(sign as string) ? ' ' : (sign as string)) : characterOf(code),
  )

/** Replaces a control character by a space, because it would break the line. */
function characterOf(code: string): string {
  const character = String.fromCharCode(parseInt(code, 16))
  return /\p{Cc}/u.test(character) ? ' ' : character
}

const unmarked = (text: string): string =>
  text
    .replace(QUOTATION, '')
    .replace(LINK, '$1')
    .replace(HEADING, '$1')
    .replace(STRONG, '$2')
    .replace(LIGHT, '$1')
    .replace(BACKTICKS, '')
