/** Matches characters of a call id that some providers reject. `MAX_ID_CHARACTERS` is the length that all accept. */
const FOREIGN = /[^a-zA-Z0-9_-]/g
const MAX_ID_CHARACTERS = 64

interface CallIds {
  /** Returns the ids to send for a batch of calls. */
  begin(ids: readonly string[]): string[]
  /** Returns the id to send for the next result of the batch, and its index in the batch. */
  next(id: string): { id: string; index: number }
}

/**
 * Creates the call ids of one request. `unique`: the provider rejects ids that are repeated or have other characters.
 * Logs have both, such as another model's ids, or ids repeated across rounds. Such a call gets an id derived from its
 * own id and its index among equal ids. The id is the same in every later request.
 */
export function createCallIds(unique: boolean): CallIds {
  const used = new Set<string>()
  let batch: string[] = []
  let results = 0

  function rename(id: string): string {
    const plain = id.replace(FOREIGN, '_').slice(0, MAX_ID_CHARACTERS) || 'call'
    let name = plain
    for (let count = 2; used.has(name); count++) name = `${plain.slice(0, MAX_ID_CHARACTERS - 8)}_${count}`
    used.add(name)
    return name
  }

  return {
    begin(ids) {
      batch = unique ? ids.map(rename) : [...ids]
      results = 0
      return batch
    },
    next(id) {
      const index = results++
      return { id: batch[index] ?? id, index }
    },
  }
}
