import type { HistoryDocument } from '../domain/history.ts'
import type { HistoryChange, HistoryWriter } from '../ports/history-writer.ts'

/** Characters of documents that are written together: with their tokens they are some 1 MB. */
const UNITS_AT_ONCE = 300_000
/** What a document or a removal costs beside its texts. */
const UNITS_OF_ONE = 200

/** A message of which documents are written or removed. */
export type Target = Pick<HistoryChange, 'key' | 'messageId' | 'revision'>

/** Gathers what is to be written, and writes it as soon as it is much: so that any amount of it takes little memory. */
export interface WriteBuffer {
  add(id: string, target: Target, document: HistoryDocument): Promise<void>
  remove(id: string, target: Target, part: string): Promise<void>
  /** Resolves when all is written. */
  flush(): Promise<void>
}

interface Gathered extends Target {
  readonly documents: HistoryDocument[]
  readonly removed: string[]
}

/**
 * Calls `failed` with the given id and the reason of each failed write. Once the writer has rejected, every call
 * rejects.
 */
export function createWriteBuffer(
  writer: Pick<HistoryWriter, 'write'>,
  failed: (id: string, error: string) => void,
): WriteBuffer {
  let gathered = new Map<string, Gathered>()
  let units = 0
  let before: Promise<void> = Promise.resolve()

  async function store(changes: ReadonlyMap<string, Gathered>): Promise<void> {
    if (changes.size === 0) return
    const outcomes = await writer.write([...changes.values()])
    for (const [place, id] of [...changes.keys()].entries()) {
      const outcome = outcomes[place]
      if (outcome?.done !== true) failed(id, outcome?.error ?? 'no outcome')
    }
  }
  function flush(): Promise<void> {
    const changes = gathered
    gathered = new Map()
    units = 0
    before = before.then(() => store(changes))
    return before
  }
  async function gather(id: string, target: Target, more: (change: Gathered) => number): Promise<void> {
    const change = gathered.get(id) ?? { ...target, documents: [], removed: [] }
    gathered.set(id, change)
    units += UNITS_OF_ONE + more(change)
    if (units >= UNITS_AT_ONCE) await flush()
  }
  return {
    flush,
    add: (id, target, document) =>
      gather(id, target, ({ documents }) => {
        documents.push(document)
        return document.text.length + (document.call?.length ?? 0)
      }),
    remove: (id, target, part) =>
      gather(id, target, ({ removed }) => {
        removed.push(part)
        return part.length
      }),
  }
}
