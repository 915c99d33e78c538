import { definedFields } from '../../../functions/domain/defined-fields.ts'
import type { HistoryDocument, HistoryHit } from '../../../functions/domain/history.ts'
import type { SessionKey } from '../../../functions/domain/session.ts'
import type { HistoryIndex } from '../../../functions/ports/history-index.ts'
import type { HistoryChange, HistoryWriter, WriteOutcome } from '../../../functions/ports/history-writer.ts'
import { isDisturbed } from '../harness.ts'
import type { Harness } from '../harness.ts'

/** Milliseconds for which the engine remembers the revision of a document after its removal. */
const REMEMBERED_MS = 60_000

export interface SearchEngine extends HistoryWriter {
  readonly index: HistoryIndex
  documents(key: SessionKey): readonly HistoryDocument[]
}

interface Entry {
  readonly revision: number
  /** Absent if this revision removed the document. */
  readonly document?: HistoryDocument
  readonly at: number
}

/**
 * Creates a search engine in memory. Like OpenSearch with external versions, it stores only the newest revision of each
 * document.
 */
export function createSearchEngine(harness: Harness): SearchEngine {
  const entries = new Map<string, Map<string, Entry>>()
  const nameOf = ({ tenant, session }: SessionKey): string => `${tenant} ${session}`

  function put({ key, messageId, revision }: HistoryChange, part: string, document?: HistoryDocument): void {
    const ofSession = entries.get(nameOf(key)) ?? new Map<string, Entry>()
    entries.set(nameOf(key), ofSession)
    const now = harness.elapsed()
    const before = ofSession.get(`${messageId} ${part}`)
    const isForgotten = before?.document === undefined && now - (before?.at ?? 0) > REMEMBERED_MS
    if (before !== undefined && !isForgotten && before.revision >= revision) return
    ofSession.set(`${messageId} ${part}`, { revision, at: now, ...definedFields({ document }) })
  }

  function store(change: HistoryChange): WriteOutcome {
    const { dice } = harness
    const isBusy = isDisturbed(harness) && dice.chance('index busy', 0.05)
    for (const document of change.documents)
      if (!isBusy || dice.chance('index busy', 0.5)) put(change, document.part, document)
    for (const part of change.removed) if (!isBusy || dice.chance('index busy', 0.5)) put(change, part)
    return isBusy ? { done: false, error: 'busy' } : { done: true }
  }

  function documents(key: SessionKey): HistoryDocument[] {
    const ofSession = entries.get(nameOf(key))?.values() ?? []
    return [...ofSession].flatMap(({ document }) => document ?? [])
  }

  return {
    documents,
    write: async (changes) => changes.map(store),
    index: {
      async search({ scope: { tenant, session = '' } }) {
        return { hits: documents({ tenant, session }).slice(0, 1).map(hitOf) }
      },
      locate: async () => undefined,
      hasSuperseded: async () => true,
    },
  }
}

const hitOf = ({ text, ...document }: HistoryDocument): HistoryHit => ({
  ...document,
  snippet: text,
  score: 0,
  matched: [],
})
