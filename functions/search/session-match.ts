import type { Json } from '../domain/json.ts'
import type { Session } from '../domain/session.ts'
import type { MetadataFilter, SessionFilter } from '../domain/session-filter.ts'
import { metadataText } from '../domain/metadata-text.ts'
import { fold, lower } from './tokens/fold-text.ts'

type Matched = Pick<Session, 'agent' | 'owner' | 'run' | 'title' | 'metadata'>
type Conditions = Pick<SessionFilter, 'agent' | 'owner' | 'runStatus' | 'metadata' | 'q'>

const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu
const WORD_END = /[\p{L}\p{N}\p{M}]$/u
/**
 * Matches a character of a script (writing system) without spaces. In such scripts, a word may begin at each character.
 */
const BEGINS_ANYWHERE =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u

/**
 * Returns a function that shows whether a session matches all conditions except the times. `opening`: the stored
 * beginning of its first input.
 */
export function createSessionMatch({ agent, owner, runStatus, metadata = [], q }: Conditions) {
  const words = q === undefined ? [] : wordsOf(q)
  return (session: Matched, opening: string | undefined): boolean =>
    (owner === undefined || session.owner === owner) &&
    (agent === undefined || session.agent === agent) &&
    (runStatus === undefined || session.run?.status === runStatus) &&
    metadata.every((filter) => fits(session.metadata[filter.key], filter)) &&
    (words.length === 0 || occurAll(words, plain(`${session.title ?? ''}\n${opening ?? ''}`)))
}

/** Returns the words of the filter `q`, folded for comparison. Empty if `q` has no letter or digit. */
export const wordsOf = (q: string): string[] => [...new Set(Array.from(plain(q).matchAll(WORD), ([word]) => word))]

const plain = (text: string): string => lower(fold(text))

function fits(value: Json | undefined, { value: wanted, isPrefix }: MetadataFilter): boolean {
  const text = metadataText(value)
  return text !== undefined && (isPrefix ? text.startsWith(wanted) : text === wanted)
}

const occurAll = (words: readonly string[], text: string): boolean => words.every((word) => occurs(word, text))

/** Whether the text has a word with this prefix. */
function occurs(word: string, text: string): boolean {
  const anywhere = BEGINS_ANYWHERE.test(word)
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1))
    if (anywhere || at === 0 || !WORD_END.test(text.slice(Math.max(0, at - 2), at))) return true
  return false
}
