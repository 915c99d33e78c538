import type { SearchHit } from '../../functions/client/api-types.ts'

type Role = SearchHit['role']

/** Matches a word that a search found, with the marks that the API puts around the word. */
const MATCH = /«([^»]*)»/gu
/** Matches a link or an image whose text has no brackets and whose address has no parentheses. */
const LINK = /!?\[([^[\]]*)\]\(([^()\s]*)(?:\s+["'][^"']*["'])?\)/gu
const CODE = /(`+[^`]+`+)/u
/**
 * Matches `*`, `_` and `~` at the edge of a word, but not inside a word (`snake_case`) or between spaces. Ignores the
 * marks of search matches.
 */
const EMPHASIS = /(?<![\p{L}\p{N}][«»]*)[*_~]+(?=\S)|(?<=\S)[*_~]+(?![«»]*[\p{L}\p{N}])/gu
/**
 * Matches marks of headings at any position, and marks of quotations and lists at the beginning of the text. A heading
 * may be at any position because snippets have spaces instead of line breaks.
 */
const LINE_MARKS = /(?<=^|\s)#{1,6}\s+|^\s*(?:[>*+-]\s+)+/gu
const TABLE_RULE = /\|(?:\s*:?-{2,}:?\s*\|)+/gu
/**
 * Matches text that indicates JSON: a quotation mark next to a bracket, comma or colon. In a call's arguments, a
 * quotation mark may also follow `=`.
 */
const IS_JSON = /\\"|"\s*[:,}\]]|[{[,:(=]\s*"/u
const ESCAPE = /\\(?:u([0-9a-f]{4})|(["\\/bfnrt]))/giu

/**
 * Returns a snippet or a neighbour as plain text, without Markdown marks or JSON escapes. Marks of matches are kept.
 */
export function plainText(text: string, role: Role): string {
  const isTool = role === 'tool_call' || role === 'tool_result'
  return (isTool ? withoutEscapes(text) : withoutMarkdown(text)).replaceAll(/\s+/gu, ' ').trim()
}

function withoutMarkdown(text: string): string {
  return text
    .split(CODE)
    .map((piece, index) => (index % 2 === 1 ? piece.replaceAll('`', '') : withoutMarks(piece)))
    .join('')
}

const withoutMarks = (text: string): string =>
  text
    .replaceAll(LINK, (_link, name: string, address: string) => (address.includes('«') ? `${name} ${address}` : name))
    .replaceAll(TABLE_RULE, ' ')
    .replaceAll(LINE_MARKS, '')
    .replaceAll(EMPHASIS, '')
    .replaceAll('`', '')

function withoutEscapes(text: string): string {
  if (!IS_JSON.test(text)) return text
  return text.replaceAll(ESCAPE, (_escape, code: string | undefined, letter: string | undefined) => {
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16))
    return letter !== undefined && '"\\/'.includes(letter) ? letter : ' '
  })
}

/** Splits the text of a snippet at its matches. Pieces at odd indexes are matches. */
export const splitAtMatches = (text: string): readonly string[] => text.split(MATCH)

/** Headings of a call's parts in the conversation, by the role of a hit. */
const VALUE_NAMES: { readonly [role in Role]?: string } = { tool_call: 'Arguments', tool_result: 'Result' }

/** Builds the address that opens a hit in its conversation, and marks the words of the search there. */
export function addressOf({ session_id: session, message_id: message, role, status, snippet }: SearchHit): string {
  const caption = [...new Set([...snippet.matchAll(MATCH)].flatMap(([, word = '']) => word.split(/\s+/u)))]
  const query = new URLSearchParams()
  const text = caption.filter((word) => word !== '').join(' ')
  if (text !== '') query.set('words', text)
  const value = role === 'tool_result' && status === 'error' ? 'Error' : VALUE_NAMES[role]
  if (value !== undefined) query.set('in', value)
  const search = query.size === 0 ? '' : `?${query.toString()}`
  return `/sessions/${encodeURIComponent(session)}${search}#${message}`
}
