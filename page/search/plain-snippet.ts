import type { SearchHit } from '../../functions/client/api-types.ts'

type Role = SearchHit['role']

/** Marks around a match, as the API writes them. */
const MATCH = /«([^»]*)»/gu
/** A link or an image whose text has no brackets and whose address has no parentheses. */
const LINK = /!?\[([^[\]]*)\]\(([^()\s]*)(?:\s+["'][^"']*["'])?\)/gu
const CODE = /(`+[^`]+`+)/u
/** `*` and `_` beside a word. They stay within a word (`snake_case`) and between spaces. Marks of a match do not count. */
const EMPHASIS = /(?<![\p{L}\p{N}][«»]*)[*_~]+(?=\S)|(?<=\S)[*_~]+(?![«»]*[\p{L}\p{N}])/gu
/** Marks of headings, and of quotations and lists where the text begins. Line breaks are spaces in a snippet. */
const LINE_MARKS = /(?<=^|\s)#{1,6}\s+|^\s*(?:[>*+-]\s+)+/gu
const TABLE_RULE = /\|(?:\s*:?-{2,}:?\s*\|)+/gu
/** JSON has a quotation mark beside a bracket, a comma or a colon; the arguments of a call have one behind `=`. */
const IS_JSON = /\\"|"\s*[:,}\]]|[{[,:(=]\s*"/u
const ESCAPE = /\\(?:u([0-9a-f]{4})|(["\\/bfnrt]))/giu

/** Returns a snippet, or the text of a neighbour, as plain text: without Markdown marks or JSON escapes. Marks of matches stay. */
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

/** Returns the text of a snippet in pieces; those at odd indexes matched. */
export const splitAtMatches = (text: string): readonly string[] => text.split(MATCH)

/** The value of a call that a hit of this role is in, as the conversation names it. */
const VALUE_NAMES: { readonly [role in Role]?: string } = { tool_call: 'Arguments', tool_result: 'Result' }

/** Builds the address that opens a hit where it happened, with its words marked. */
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
