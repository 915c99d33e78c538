/** What every provider accepts in a call id, and how long one may be. */
const FOREIGN = /[^a-zA-Z0-9_-]/g
const MAX_ID_CHARACTERS = 64

interface CallIds {
  /** The ids under which a batch of calls is sent. */
  begin(ids: readonly string[]): string[]
  /** The id under which the next result of the batch is sent, and its place in the batch. */
  next(id: string): { id: string; index: number }
}

/**
 * Call ids for one request. `unique`: the provider refuses an id that is used twice or has foreign characters, and logs have
 * both (another model's ids, ids repeated across rounds). Such a call gets an id made from its own and its place among its
 * equals, the same in every later request.
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
