import type { HistoryDocument } from '../domain/history.ts'
import type { HistoryChange, HistoryWriter } from '../ports/history-writer.ts'

/** Number of characters of the documents in one write. Such a write has about 1 MB, including the documents' tokens. */
const UNITS_AT_ONCE = 300_000
/** Fixed cost of each document or removal, counted as characters in addition to its texts. */
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
 * Creates a buffer. The buffer calls `failed` with the id and the reason of each failed write. After the writer has
 * rejected once, every call to the buffer rejects.
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
