import type { HistoryRole } from '../domain/history.ts'
import { lower } from './fold-text.ts'
import { MAX_QUERY, parseQuery, type SearchQuery } from './query.ts'
import { inflections } from './word-forms.ts'
import { OPENING_COMMANDS, QUESTION_WORDS } from './words.ts'

/** The fields of a candidate that show whether it is about the history. */
interface Said {
  readonly role: HistoryRole
  readonly text: string
  readonly runId: string
  readonly searched: boolean
}

const NOTHING_FOUND =
  /\b(?:nothing|no (?:match(?:es)?|results?|entr(?:y|ies)|mentions?|records?))\b.{0,60}\b(?:match(?:es|ed)?|found|histor(?:y|ies)|records?)\b|\b(?:could|can|did)(?:n['’]t| not|not) find\b/isu
/** The length of a text that says that nothing was found. */
const OPENING = 300

/**
 * Tells talk about the history from what happened: earlier searches for the same, questions that were looked up in it, the
 * completions after either, and "nothing found". A query for what somebody said makes no such distinction.
 */
export function findEchoes(query: SearchQuery, candidates: readonly Said[]): (candidate: Said) => boolean {
  if (query.speaker === 'user' || query.speaker === 'assistant' || query.terms.length === 0) return () => false
  const asked = new Set(
    query.terms
      .flatMap(({ text, words, wholes }) => [text, ...wholes, ...words])
      .flatMap((word) => [word, ...inflections(word)]),
  )
  const known = new Map<string, boolean>()
  const isQuestion = ({ role, text }: Said): boolean => {
    if (role !== 'user' || text.length > MAX_QUERY) return false
    const before = known.get(text)
    if (before !== undefined) return before
    const says = saysNoMore(text, query, asked)
    known.set(text, says)
    return says
  }
  const runs = new Set(candidates.filter(isQuestion).map(({ runId }) => runId))
  const searching = new Set(candidates.filter(({ searched }) => searched).map(({ runId }) => runId))
  return (candidate) =>
    isQuestion(candidate) ||
    (candidate.role === 'user' && searching.has(candidate.runId) && asks(candidate.text)) ||
    (candidate.role === 'assistant' &&
      (candidate.searched || runs.has(candidate.runId) || NOTHING_FOUND.test(candidate.text.slice(0, OPENING))))
}

/** Whether a text asks for something and tells nothing: what a person tells is what happened, whatever was looked up for it. */
function asks(text: string): boolean {
  if (text.length > MAX_QUERY) return false
  const [first = ''] = /[\p{L}\p{N}]+/u.exec(lower(text)) ?? []
  return text.trimEnd().endsWith('?') || QUESTION_WORDS.has(first) || OPENING_COMMANDS.has(first)
}

/** A shorter text may be what happened. */
const LEAST_WORDS = 2

/** Whether a text has only words of the query. */
function saysNoMore(text: string, query: SearchQuery, asked: ReadonlySet<string>): boolean {
  if (lower(text).trim() === query.literal) return true
  const content = parseQuery(text).terms.filter(({ weight }) => weight === 1)
  return (
    content.length >= LEAST_WORDS &&
    content.every(
      (term) => asked.has(term.text) || (term.words.length > 1 && term.words.every((word) => asked.has(word))),
    )
  )
}
