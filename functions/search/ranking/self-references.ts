import type { HistoryRole } from '../../domain/history.ts'
import { DELEGATE_TOOL } from '../../domain/runs/team.ts'
import { lower } from '../tokens/fold-text.ts'
import { MAX_QUERY, MAX_TERMS, parseQuery, type SearchQuery } from '../query/query.ts'
import { inflections } from '../query/word-forms.ts'
import { FRAME_WORDS, FUNCTION_WORDS, OPENING_COMMANDS, QUESTION_WORDS } from '../query/words.ts'

/** The fields of a candidate that show whether it refers to a search of the history. */
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
/** Characters at the beginning of a text that are checked for `NOTHING_FOUND`. */
const OPENING = 300

/**
 * Returns the ids of those runs among `runIds` that searched the history. The call that searched may not be among the
 * candidates, so the store is asked.
 */
export type SearchedRuns = (runIds: readonly string[]) => Promise<ReadonlySet<string>>

/** Score factors for self-references. `CERTAIN` ranks a self-reference below any event with a single matching term. */
const CERTAIN = 0.001
const LIKELY = 0.2

/** Returns the score factor of a candidate; a real event has 1. */
type ShareOf = (candidate: Said) => number

/**
 * Creates a function that distinguishes the self-references among candidates from real events. Self-references are
 * earlier searches for the query's subject, their results, questions that led to such a search, and tasks that
 * delegated such a search to a team member. Completions and delegate calls after such a search, and texts such as
 * "nothing found", are self-references as well. A query for texts of a user or an assistant has no self-references.
 *
 * The function may be called again with more candidates. It reads each text and each run once.
 */
export function createSelfReferences(
  query: SearchQuery,
  searchedRuns: SearchedRuns,
): (candidates: readonly Said[]) => Promise<ShareOf> {
  if (query.speaker === 'user' || query.speaker === 'assistant' || query.terms.length === 0) return async () => () => 1
  const askedWords = questionRecognizer(query)
  const isQuestion = (said: Said): boolean => askedWords(said) >= MIN_WORDS
  const requests = new Map<string, boolean>()
  /** Whether a text is a request. Only used in runs that have searched the history. */
  const isRequest = (said: Said): boolean => {
    const known = requests.get(said.text) ?? (askedWords(said) >= 1 || asks(said.text))
    requests.set(said.text, known)
    return known
  }
  const searched = new Map<string, boolean>()
  const searchedAmong = async (runIds: readonly string[]): Promise<string[]> => {
    const unknown = [...new Set(runIds)].filter((run) => !searched.has(run))
    const found = unknown.length === 0 ? new Set<string>() : await searchedRuns(unknown)
    for (const run of unknown) searched.set(run, found.has(run))
    return runIds.filter((run) => searched.get(run))
  }
  return async (candidates) => findAmong(candidates, { isQuestion, isRequest, searchedAmong })
}

interface Recognizers {
  readonly isQuestion: (said: Said) => boolean
  readonly isRequest: (said: Said) => boolean
  /** Returns those of these runs that searched the history. */
  readonly searchedAmong: (runIds: readonly string[]) => Promise<string[]>
}

async function findAmong(
  candidates: readonly Said[],
  { isQuestion, isRequest, searchedAmong }: Recognizers,
): Promise<ShareOf> {
  const asking = new Set(candidates.filter(isQuestion).map(({ runId }) => runId))
  const listings = new Set(candidates.filter(({ text }) => isListing(text)).map(({ event }) => event))
  const searching = new Set(
    candidates.filter((one) => one.searched || listings.has(one.event)).map(({ runId }) => runId),
  )
  const unsure = candidates.filter(
    (one) => one.role === 'user' && !searching.has(one.runId) && (one.task || isRequest(one)),
  )
  for (const run of await searchedAmong(unsure.map(({ runId }) => runId))) searching.add(run)
  /**
   * Time at which each run first listed history entries. Listings of other programs' tools are recognised by their text
   * only. So later texts of the run may lack the mark `searched`.
   */
  const shownAt = new Map<string, number>()
  for (const { runId, event, time } of candidates)
    if (listings.has(event)) shownAt.set(runId, Math.min(time, shownAt.get(runId) ?? time))
  const isAfter = ({ runId, time, searched }: Said): boolean => searched || time >= (shownAt.get(runId) ?? Infinity)
  return (said) => {
    const { role, runId, text } = said
    if (listings.has(said.event)) return CERTAIN
    if (role === 'user') {
      if (searching.has(runId) && (said.task || isRequest(said))) return CERTAIN
      return isQuestion(said) ? LIKELY : 1
    }
    if (role !== 'assistant' && said.toolName !== DELEGATE_TOOL) return 1
    if (isAfter(said)) return CERTAIN
    if (asking.has(runId)) return LIKELY
    if (role === 'assistant') return NOTHING_FOUND.test(text.slice(0, OPENING)) ? LIKELY : 1
    return shownAt.has(runId) ? CERTAIN : 1
  }
}

/**
 * Creates a function that recognises users' texts, including tasks of members, whose content words are all in the
 * query. The created function returns the number of these words, and 0 for all other texts.
 */
function questionRecognizer(query: SearchQuery): (said: Said) => number {
  const asked = new Set(
    query.terms
      .flatMap(({ text, words, wholes }) => [text, ...wholes, ...words])
      .flatMap((word) => [word, ...inflections(word)]),
  )
  const known = new Map<string, number>()
  return ({ role, text }) => {
    if (role !== 'user' || text.length > MAX_QUERY) return 0
    const count = known.get(text) ?? countAskedWords(text, query, asked)
    known.set(text, count)
    return count
  }
}

/** Words that begin a request to search for something, or to let another agent search. */
const MORE_COMMANDS = new Set('any ask check delegate have help let see try use'.split(' '))
/** Words that begin a question and whose apostrophe is missing, such as `hows` for `how's`. */
const HURRIED = new Set('hows whats whens wheres whos whys'.split(' '))
/** Words after a request that carry no content. */
const COURTESIES = new Set(['thanks', 'thx'])
const PLEASE = new Set(['please', 'pls', 'plz'])
/** Maximum characters of a text that counts as keywords. */
const MAX_KEYWORD_CHARACTERS = 80
/**
 * Words that occur in sentences but not in lists of keywords; English only. In other languages, only the end of a text
 * shows whether it is a sentence.
 */
const IN_SENTENCES = new Set(
  [...FUNCTION_WORDS].filter((word) => !/^(?:about|and|by|for|from|of|or|please|with)$/.test(word)),
)
const SENTENCE_END = /[.!。！…][\]"'”»)\s]*$/u
/** Matches the end of a question, in any script. */
const QUESTION_END = /[?？؟]["'”»)\]\s]*$/u
/** Matches the last of several sentences. */
const LAST_SENTENCE = /[.!?。！？]\s+([^.!?。！？]+)$/u
/** Words that may precede a request. */
const FILLERS = new Set(['also', 'and', 'hello', 'hey', 'hi', 'now', 'ok', 'okay', 'so', 'thanks', 'then', 'well'])
/** Matches phrases such as "I am looking for". Words are separated by one space. */
const WONDERS =
  /^(?:(?:i|we) (?:(?:d|m|re|am|are|was|were|would|just|still|really) )*)?(?:wonder|wondering|(?:looking|searching) for|trying to (?:find|remember|recall)|(?:need|want|like) (?:info|information|news|details|to (?:know|find|see|hear|remember|recall|check)))\b/u

/** Whether a text only asks for something and reports nothing. A report is a real event, even if it led to a search. */
function asks(text: string): boolean {
  if (text.length > MAX_QUERY) return false
  const words = wordsOf(text)
  if (isStatement(text, words)) return false
  const isCommand = [OPENING_COMMANDS, MORE_COMMANDS, PLEASE].some((openers) => openers.has(words[0] ?? ''))
  const isWish = PLEASE.has(words.at(-1) ?? '') || WONDERS.test(words.join(' '))
  const isQuestion = opensQuestion(words) || QUESTION_END.test(text) || endsInQuestion(text)
  return isCommand || isWish || isQuestion || isKeywords(text, words)
}

/**
 * Whether a text is a list of keywords, such as "Spare fuse sauna". In languages without spaces, any short text without
 * a full stop counts.
 */
const isKeywords = (text: string, words: readonly string[]): boolean =>
  text.length <= MAX_KEYWORD_CHARACTERS && !SENTENCE_END.test(text) && !words.some((word) => IN_SENTENCES.has(word))

/** Returns the words of a text after its greeting. */
function wordsOf(text: string): string[] {
  const said: string[] = lower(text).match(/[\p{L}\p{N}]+/gu) ?? []
  return said.slice(said.findIndex((word) => !FILLERS.has(word)))
}

const opensQuestion = ([first = '']: readonly string[]): boolean => QUESTION_WORDS.has(first) || HURRIED.has(first)

/**
 * Whether the last sentence is a question: "She comes tonight. Which tea does she like", but not "It is down. Do not
 * touch it".
 */
function endsInQuestion(text: string): boolean {
  const [first = ''] = wordsOf(LAST_SENTENCE.exec(text)?.[1] ?? '')
  return HURRIED.has(first) || /^(?:wh(?:at|ich|o|om|ose|y|ere)|how)$/.test(first)
}

/**
 * Whether a text is a statement although it begins like a question or a request. Examples: "Have moved it." and
 * "Please note that it moved".
 */
const isStatement = (text: string, [first = '', second]: readonly string[]): boolean =>
  (PLEASE.has(first) && second === 'note') ||
  (QUESTION_WORDS.has(first) && text.trimEnd().endsWith('.') && !/[?？؟]/u.test(text))

/** Minimum words of a question in a run that made no search. A shorter text may be a real event. */
const MIN_WORDS = 2

/** Returns the number of a text's content words, or 0 if the query lacks one of them. */
function countAskedWords(text: string, query: SearchQuery, asked: ReadonlySet<string>): number {
  if (lower(text).trim() === query.literal) return Infinity
  if (opensWithOtherWord(text, asked)) return 0
  const content = parseQuery(text).terms.filter(({ weight, text: word }) => weight === 1 && !COURTESIES.has(word))
  return content.every(
    (term) => asked.has(term.text) || (term.words.length > 1 && term.words.every((word) => asked.has(word))),
  )
    ? content.length
    : 0
}

/**
 * Whether one of the plain words at a text's beginning is a content word that is not in `asked`. This is true of most
 * texts, and much cheaper than parsing them.
 */
function opensWithOtherWord(text: string, asked: ReadonlySet<string>): boolean {
  for (const word of text.split(/\s+/u, MAX_TERMS)) {
    if (!/^[A-Za-z][a-z]*$/u.test(word)) return false
    const plain = word.toLowerCase()
    const isContent = ![FUNCTION_WORDS, FRAME_WORDS, COURTESIES].some((words) => words.has(plain))
    if (isContent && !asked.has(plain)) return true
  }
  return false
}

/** Matches an id in a listing. */
const ID = '[0-9A-HJKMNP-TV-Z]{26}'

/** Patterns of the text that our history tools return, from the MCP server, the API and the command line. */
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
 * Whether a text lists history entries. Only the text shows it: other programs may name our tools differently, or call
 * the API by a tool of their own.
 */
const isListing = (text: string): boolean => MARKS.some((mark) => text.includes(mark)) && LISTING.test(text)

/** Every listing has one of these texts. Most texts have none, and this check is much faster than the pattern. */
const MARKS = [
  'They are records to read',
  'Nothing in the ',
  '] session ',
  ' TOOL RESULT (',
  '· session ',
  'search_hit',
]
