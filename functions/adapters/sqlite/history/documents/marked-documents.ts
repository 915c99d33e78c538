import { isDeepStrictEqual } from 'node:util'
import { TooltrailError } from '../../../../domain/errors.ts'
import type { HistoryDocument } from '../../../../domain/history.ts'
import type { Message } from '../../../../domain/messages/message.ts'
import { outputText } from '../../../../log/output-text.ts'
import { mostDocuments, projectMessage, shownText, wholeText } from '../../../../search/documents/documents.ts'
import type { OutputStore } from '../../../../ports/output-store.ts'
import { reading, readOne, type Database } from '../../database.ts'
import { fromColumn } from '../../exact-text.ts'
import { messageOf, SELECT_MESSAGES, type MessageRow } from '../../log/messages/message-rows.ts'

export interface MarkedDependencies {
  readonly database: Database
  readonly outputs: Pick<OutputStore, 'read'>
  /** Receives the reason why a merge in the background failed, or why one message cannot be read. */
  readonly report: (error: unknown) => void
}

/** A message that is marked as not yet indexed, in its current state. */
export interface MarkedRow extends MessageRow {
  readonly number: number
  readonly tenant: string
  readonly session: string
  readonly owner: string | null
  /** 1 if another run has superseded the message's run, otherwise 0. */
  readonly superseded: number
}

export interface Documents {
  readonly documents: readonly HistoryDocument[]
  readonly more: boolean
}

export interface MarkedDocuments {
  readonly row: MarkedRow
  readonly first: readonly HistoryDocument[]
  /**
   * Makes the next `count` documents, or returns undefined if the rest of the message cannot be read. This function is
   * absent if `first` has all documents.
   */
  readonly rest?: (count: number) => Promise<Documents | undefined>
  /** Maximum number of documents of the message. */
  readonly most: number
}

const IS_SUPERSEDED =
  'EXISTS (SELECT 1 FROM replacements p WHERE p.session = m.session AND p.start <= r.id AND p.run > r.id)'

const SELECT_MARKED = `${SELECT_MESSAGES.replace('SELECT', `SELECT m.number, s.tenant, s.session, s.owner, ${IS_SUPERSEDED} AS superseded,`)}
  JOIN sessions s ON s.number = m.session JOIN historyMarks h ON h.message = m.number WHERE m.number = ? AND s.live = 1`

/**
 * Returns `same` if the message is still marked as not indexed and unchanged, and `changed` if it has changed. Returns
 * `gone` if another process has indexed the message, or if its session was deleted. Documents that are indexed after a
 * deletion would never be removed. Call it inside a transaction.
 */
export function stillMarked(database: Database, row: MarkedRow): 'same' | 'changed' | 'gone' {
  const now = readOne<MarkedRow>(database, SELECT_MARKED, row.number)
  if (now === undefined) return 'gone'
  return isDeepStrictEqual(now, row) ? 'same' : 'changed'
}

/**
 * Makes up to `count` documents of a message. Returns undefined if the message is no longer marked as not indexed, if
 * it cannot be read, or if its session is deleted.
 */
export async function readMarked(
  dependencies: MarkedDependencies,
  number: number,
  count: number,
): Promise<MarkedDocuments | undefined> {
  const { database, report } = dependencies
  const row = reading(database, () => readOne<MarkedRow>(database, SELECT_MARKED, number))
  if (row === undefined) return undefined
  try {
    const message = messageOf(row)
    const documents = documentsOf(dependencies, row, message)
    let next = await documents.next()
    const take = async (wanted: number): Promise<Documents> => {
      const taken: HistoryDocument[] = []
      for (; next.done !== true && taken.length < wanted; next = await documents.next()) taken.push(next.value)
      return { documents: taken, more: next.done !== true }
    }
    const first = await take(count)
    const most = mostDocuments(message)
    if (!first.more) return { row, first: first.documents, most }
    const rest = (wanted: number): Promise<Documents | undefined> =>
      take(wanted).catch((error: unknown) => {
        report(unread(row, error))
        return undefined
      })
    return { row, first: first.documents, rest, most }
  } catch (error) {
    report(unread(row, error))
    return undefined
  }
}

const unread = ({ id, session }: MarkedRow, cause: unknown): Error =>
  new Error(`message ${id} of session ${session} is not indexed`, { cause })

function documentsOf(
  { outputs, report }: MarkedDependencies,
  row: MarkedRow,
  message: Message,
): AsyncGenerator<HistoryDocument> {
  const key = { tenant: row.tenant, session: row.session }
  const superseded = row.superseded === 1
  const session = row.owner === null ? { key, superseded } : { key, superseded, owner: fromColumn(row.owner) }
  let reported = false
  return projectMessage(message, session, async function* (result) {
    try {
      yield* wholeText(result, (object, output) => outputText((range) => outputs.read(key, object, range), output))
    } catch (error) {
      if (!(error instanceof TooltrailError) || error.code !== 'output_not_found') throw error
      const reason = new Error(`the output of message ${result.id} is gone, its preview is indexed`, { cause: error })
      if (!reported) report(reason)
      reported = true
      yield shownText(result)
    }
  })
}
