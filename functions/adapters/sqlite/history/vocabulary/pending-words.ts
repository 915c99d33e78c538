import type { DocumentReader } from '../../../../search/tokens/document-words.ts'
import type { HistoryDocument } from '../../../../domain/history.ts'
import { readAll, type Database } from '../../database.ts'
import { isEmpty, type SessionRows } from './audiences.ts'
import { addSessionWords } from './session-words.ts'
import type { SessionWords, VocabularyWriter } from './vocabulary-writer.ts'

/** Words of stored documents that are not in the vocabularies yet. */
export interface PendingWords {
  defer(words: SessionWords): void
  /** Stores the words, except those of sessions without documents, which were deleted. */
  flush(): void
  forget(): void
}

/** Creates the pending words of one process. */
export function createPendingWords(database: Database, vocabulary: VocabularyWriter): PendingWords {
  const sessions = new Map<number, SessionWords>()
  return {
    defer({ rows, runs }) {
      const pending = sessions.get(rows.session)
      if (pending === undefined) sessions.set(rows.session, { rows, runs })
      else pending.runs.push(...runs)
    },
    flush() {
      vocabulary.add([...sessions.values()].filter(({ rows }) => !isEmpty(database, rows)))
      sessions.clear()
    },
    forget: () => sessions.clear(),
  }
}

type Stored = Pick<HistoryDocument, 'role' | 'text'> & {
  readonly toolName: string | null
  readonly call: string | null
}

const SELECT_STORED = `SELECT d.role, d.text, m.tool AS toolName, m.call FROM historyDocuments d
  JOIN historyMessages m ON m.id = d.message WHERE d.message = ?`

/**
 * Stores the pending words of a message as words of its session, before the message's documents are removed. Deletions
 * of other sessions did not remove these words from the owner's and the tenant's vocabularies, because the message's
 * documents have the words. The deletion of this session will remove the words from both. Call it inside a transaction.
 */
export function keepPendingWords(
  { database, reader }: { readonly database: Database; readonly reader: DocumentReader },
  { session }: SessionRows,
  message: number,
): void {
  const words = new Set<string>()
  for (const { role, text, toolName, call } of readAll<Stored>(database, SELECT_STORED, message)) {
    const { runs } = reader.read({
      role,
      text,
      ...(toolName === null ? {} : { toolName }),
      ...(call === null ? {} : { call }),
    })
    for (const run of runs) for (const word of run.knowable) words.add(word.text)
  }
  addSessionWords(database, session, [...words])
}
