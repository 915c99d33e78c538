import type { HistoryDocument } from '../../../../domain/history.ts'
import type { DocumentReader, DocumentWords } from '../../../../search/tokens/document-words.ts'

export type WordsOf = (document: HistoryDocument) => DocumentWords

/** Creates a cache of the words of documents. The words of a document that was not prepared are read on demand. */
export function createPreparedWords({ read }: DocumentReader): {
  prepare(document: HistoryDocument): void
  readonly of: WordsOf
} {
  const prepared = new WeakMap<HistoryDocument, DocumentWords>()
  return {
    prepare: (document) => void prepared.set(document, read(document)),
    of: (document) => prepared.get(document) ?? read(document),
  }
}
