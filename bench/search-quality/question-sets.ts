import { projectMessage } from '../../functions/search/documents/documents.ts'
import type { HistoryDocument } from '../../functions/domain/history.ts'
import { readCorpus, readRecordedQueries, type RecordedQuery } from '../../test/search-corpus.ts'

/**
 * Half of a question set, by line number, counted from 1. Even lines are for tuning, odd lines are for the final check.
 */
export type Half = 'odd' | 'even' | 'all'

export interface Question {
  readonly text: string
  readonly kind: string
  /** The tenant whose history is searched. */
  readonly tenant: string
  /** Names of the right messages (`messageName`). */
  readonly relevant: ReadonlySet<string>
  readonly half: Half
  /** Time of the question, in milliseconds since 1970. */
  readonly askedAt: number
}

/** Documents and questions about them. */
export interface QuestionSet {
  readonly name: string
  readonly documents: readonly HistoryDocument[]
  readonly questions: readonly Question[]
}

/** Names a message. Ids of messages of different sessions may be equal. */
export const messageName = (session: string, messageId: string): string => `${session} ${messageId}`

const TENANT = 'recorded'
const ASKED_AT = Date.UTC(2026, 10, 29, 12)

/** Reads the two open sets of recorded conversations. They have the same documents. */
export async function readOpenSets(): Promise<QuestionSet[]> {
  const corpus = readCorpus()
  const documents: HistoryDocument[] = []
  /** Names of messages, by the conversation and the index of each message. */
  const names = new Map<string, string[]>()
  for (const { id, messages, places } of corpus) {
    for (const [messageId, indices] of places)
      for (const index of indices)
        names.set(`${id} ${index}`, [...(names.get(`${id} ${index}`) ?? []), messageName(id, messageId)])
    for (const message of messages) documents.push(...(await documentsOf(id, message)))
  }
  const questionOf = ({ query, kind, relevant }: RecordedQuery, half: Half): Question => ({
    text: query,
    kind,
    tenant: TENANT,
    relevant: new Set(relevant.flatMap(([conversation, place]) => names.get(`${conversation} ${place}`) ?? [])),
    half,
    askedAt: ASKED_AT,
  })
  const sameWords = readRecordedQueries().map((line) => questionOf(line, 'all'))
  const otherWords = readRecordedQueries('queries-other-words.jsonl').map((line, index) =>
    questionOf(line, index % 2 === 0 ? 'odd' : 'even'),
  )
  return [
    { name: 'same words', documents, questions: sameWords },
    { name: 'other words', documents, questions: otherWords },
  ]
}

type Corpus = ReturnType<typeof readCorpus>

const documentsOf = (session: string, message: Corpus[number]['messages'][number]): Promise<HistoryDocument[]> =>
  Array.fromAsync(projectMessage(message, { key: { tenant: TENANT, session } }, noOutput))

const noOutput = (): never => {
  throw new Error('the recorded conversations have no outputs in a store')
}
