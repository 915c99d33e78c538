import type { HistoryRole } from '../../domain/history.ts'
import { DELEGATE_TOOL } from '../../domain/runs/team.ts'
import { lower } from '../tokens/fold-text.ts'
import { MAX_QUERY, parseQuery, type SearchQuery } from '../query/query.ts'
import { inflections } from '../query/word-forms.ts'
import { FUNCTION_WORDS, OPENING_COMMANDS, QUESTION_WORDS } from '../query/words.ts'

/** The fields of a candidate that show whether it is about the history. */
interface Said {
  readonly event: number | string
  readonly role: HistoryRole
  readonly text: string
  readonly time: number
  readonly runId: string
  readonly toolName: string | undefined
  readonly searched: boolean
  readonly task: boolean
}

const NOTHING_FOUND =
  /\b(?:nothing|no (?:match(?:es)?|results?|entr(?:y|ies)|mentions?|records?))\b.{0,60}\b(?:match(?:es|ed)?|found|histor(?:y|ies)|records?)\b|\b(?:could|can|did)(?:n['’]t| not|not) find\b/isu
/** The length of a text that says that nothing was found. */
const OPENING = 300

/** Of these runs, those in which the history was searched; of some documents, those that were found do not show it. */
export type SearchedRuns = (runIds: readonly string[]) => Promise<ReadonlySet<string>>

/** Talk about the history ranks below what happened, by these factors: certain talk below all that has but one word of the query. */
const CERTAIN = 0.001
const LIKELY = 0.2

/**
 * Tells talk about the history from what happened: earlier searches for the same, what they showed, questions that were looked up,
 * the tasks that members of a team got for it, the completions and results after all these, and "nothing found". A query for what
 * somebody said makes no such distinction. Resolves to what an event's score is multiplied by; 1: it happened.
 */
export async function findSelfReferences(
  query: SearchQuery,
  candidates: readonly Said[],
  searchedRuns: SearchedRuns,
): Promise<(candidate: Said) => number> {
  if (query.speaker === 'user' || query.speaker === 'assistant' || query.terms.length === 0) return () => 1
  const isQuestion = questionRecognizer(query, MIN_WORDS)
  const isShortQuestion = questionRecognizer(query, 1)
  /** In a run that has looked something up. */
  const isRequest = (said: Said): boolean => isShortQuestion(said) || asks(said.text)
  const asking = new Set(candidates.filter(isQuestion).map(({ runId }) => runId))
  const listings = new Set(candidates.filter(({ text }) => isListing(text)).map(({ event }) => event))
  const looking = new Set(candidates.filter((one) => one.searched || listings.has(one.event)).map(({ runId }) => runId))
  const unsure = candidates.filter(
    (one) => one.role === 'user' && !looking.has(one.runId) && (one.task || isRequest(one)),
  )
  if (unsure.length > 0)
    for (const run of await searchedRuns([...new Set(unsure.map(({ runId }) => runId))])) looking.add(run)
  /** When a run was first shown something whose texts then have no marks: nobody knew what it was. */
  const shownAt = new Map<string, number>()
  for (const { runId, event, time } of candidates)
    if (listings.has(event)) shownAt.set(runId, Math.min(time, shownAt.get(runId) ?? time))
  const isAfter = ({ runId, time, searched }: Said): boolean => searched || time >= (shownAt.get(runId) ?? Infinity)
  return (said) => {
    const { role, runId, text } = said
    if (listings.has(said.event)) return CERTAIN
    if (role === 'user') {
      if (looking.has(runId) && (said.task || isRequest(said))) return CERTAIN
      return isQuestion(said) ? LIKELY : 1
    }
    if (role !== 'assistant' && said.toolName !== DELEGATE_TOOL) return 1
    if (isAfter(said)) return CERTAIN
    if (asking.has(runId)) return LIKELY
    if (role === 'assistant') return NOTHING_FOUND.test(text.slice(0, OPENING)) ? LIKELY : 1
    return shownAt.has(runId) ? CERTAIN : 1
  }
}

/** Tells texts of users, tasks of members among them, that have only words of the query, and as many as this. */
function questionRecognizer(query: SearchQuery, leastWords: number): (said: Said) => boolean {
  const asked = new Set(
    query.terms
      .flatMap(({ text, words, wholes }) => [text, ...wholes, ...words])
      .flatMap((word) => [word, ...inflections(word)]),
  )
  const known = new Map<string, boolean>()
  return ({ role, text }) => {
    if (role !== 'user' || text.length > MAX_QUERY) return false
    const before = known.get(text)
    if (before !== undefined) return before
    const says = saysNoMore(text, query, asked, leastWords)
    known.set(text, says)
    return says
  }
}

/** Open a request to look something up, or to let somebody else do so. */
const MORE_COMMANDS = new Set('any ask check delegate have help let see try use'.split(' '))
/** Open a question that was typed in a hurry. */
const HURRIED = new Set('hows whats whens wheres whos whys'.split(' '))
/** Follow a request, and say nothing of what is asked for. */
const COURTESIES = new Set(['thanks', 'thx'])
const PLEASE = new Set(['please', 'pls', 'plz'])
/** Characters. */
const MAX_KEYWORD_CHARACTERS = 80
/** English only: a sentence has one of these, and an end in any language. */
const IN_SENTENCES = new Set(
  [...FUNCTION_WORDS].filter((word) => !/^(?:about|and|by|for|from|of|or|please|with)$/.test(word)),
)
const SENTENCE_END = /[.!。！…][\]"'”»)\s]*$/u
/** The end of a question, in any script. */
const QUESTION_END = /[?？؟]["'”»)\]\s]*$/u
/** The last of several sentences. */
const LAST_SENTENCE = /[.!?。！？]\s+([^.!?。！？]+)$/u
/** May stand before a request. */
const FILLERS = new Set(['also', 'and', 'hello', 'hey', 'hi', 'now', 'ok', 'okay', 'so', 'thanks', 'then', 'well'])
/** Say that somebody looks for something; words are divided by one space. */
const WONDERS =
  /^(?:(?:i|we) (?:(?:d|m|re|am|are|was|were|would|just|still|really) )*)?(?:wonder|wondering|(?:looking|searching) for|trying to (?:find|remember|recall)|(?:need|want|like) (?:info|information|news|details|to (?:know|find|see|hear|remember|recall|check)))\b/u

/** Whether a text asks for something and tells nothing: what a person tells is what happened, whatever was looked up for it. */
function asks(text: string): boolean {
  if (text.length > MAX_QUERY) return false
  const words = wordsOf(text)
  if (isStatement(text, words)) return false
  const isCommand = [OPENING_COMMANDS, MORE_COMMANDS, PLEASE].some((openers) => openers.has(words[0] ?? ''))
  const isWish = PLEASE.has(words.at(-1) ?? '') || WONDERS.test(words.join(' '))
  const isQuestion = opensQuestion(words) || QUESTION_END.test(text) || endsInQuestion(text)
  return isCommand || isWish || isQuestion || isKeywords(text, words)
}

/** "Spare fuse sauna": what is looked for, and no sentence. Of languages without spaces, a short text without an end. */
const isKeywords = (text: string, words: readonly string[]): boolean =>
  text.length <= MAX_KEYWORD_CHARACTERS && !SENTENCE_END.test(text) && !words.some((word) => IN_SENTENCES.has(word))

/** Words of a text after its greeting. */
function wordsOf(text: string): string[] {
  const said: string[] = lower(text).match(/[\p{L}\p{N}]+/gu) ?? []
  return said.slice(said.findIndex((word) => !FILLERS.has(word)))
}

const opensQuestion = ([first = '']: readonly string[]): boolean => QUESTION_WORDS.has(first) || HURRIED.has(first)

/** "She comes tonight. Which tea does she like", but not "It is down. Do not touch it". */
function endsInQuestion(text: string): boolean {
  const [first = ''] = wordsOf(LAST_SENTENCE.exec(text)?.[1] ?? '')
  return HURRIED.has(first) || /^(?:wh(?:at|ich|o|om|ose|y|ere)|how)$/.test(first)
}

/** "Have moved it." and "Please note that it moved" open as questions and requests do. */
const isStatement = (text: string, [first = '', second]: readonly string[]): boolean =>
  (PLEASE.has(first) && second === 'note') ||
  (QUESTION_WORDS.has(first) && text.trimEnd().endsWith('.') && !/[?？؟]/u.test(text))

/** A shorter text may be what happened, where nothing was looked up. */
const MIN_WORDS = 2

/** Whether a text has only words of the query. */
function saysNoMore(text: string, query: SearchQuery, asked: ReadonlySet<string>, leastWords: number): boolean {
  if (lower(text).trim() === query.literal) return true
  const content = parseQuery(text).terms.filter(({ weight, text: word }) => weight === 1 && !COURTESIES.has(word))
  return (
    content.length >= leastWords &&
    content.every(
      (term) => asked.has(term.text) || (term.words.length > 1 && term.words.every((word) => asked.has(word))),
    )
  )
}

/** An id as it stands in a listing. */
const ID = '[0-9A-HJKMNP-TV-Z]{26}'

/** What a search or a reading of the history shows, wherever it is called from: the MCP server, the API, the command line. */
const SHOWN = [
  'They are records to read, not instructions to follow\\.',
  '^Nothing in the (?:earlier )?history matches\\b',
  `^\\[\\d{1,4}\\] session \\S{1,128} \\| .{20,30} \\| (?:output:|message )${ID}`,
  `^\\S{20,30} TOOL RESULT \\(\\w{1,20}, output:${ID}\\): `,
  `· session \\S{1,128} · ${ID}$`,
  'object\\W{1,8}search_hit\\b',
]
const LISTING = new RegExp(SHOWN.join('|'), 'mu')

/**
 * Whether a text is what somebody was shown of the history. Tools of other programs call ours by any name, and a request to the API
 * is a call like any other: what came back tells.
 */
const isListing = (text: string): boolean => LISTING.test(text)
