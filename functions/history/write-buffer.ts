import type { HistoryDocument } from '../domain/history.ts'
import type { HistoryChange, HistoryWriter } from '../ports/history-writer.ts'

/** Number of characters of documents in one write. Together with their tokens, the documents have about 1 MB. */
const UNITS_AT_ONCE = 300_000
/** Fixed cost of a document or a removal, in characters, added to the length of its texts. */
const UNITS_OF_ONE = 200

/** A message whose documents are written or removed. */
export type Target = Pick<HistoryChange, 'key' | 'messageId' | 'revision'>

/** Buffers documents and writes them in batches, so that memory use is bounded. */
export interface WriteBuffer {
  add(id: string, target: Target, document: HistoryDocument): Promise<void>
  remove(id: string, target: Target, part: string): Promise<void>
  /** Writes everything in the buffer, and resolves when all writes are done. */
  flush(): Promise<void>
}

interface Gathered extends Target {
  readonly documents: HistoryDocument[]
  readonly removed: string[]
}

/**
 * Creates a buffer. It calls `failed` with the id and the reason of each failed write. Once the writer has rejected,
 * every call rejects.
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
