export interface Recent<Value> {
  get(name: string): Value | undefined
  /**
   * Adds a value of this size. If the values are then too large together, evicts the least recently used ones. A value
   * larger than the whole cache is not added.
   */
  set(name: string, value: Value, size: number): void
  /** Removes the value from the cache and returns it. */
  take(name: string): Value | undefined
}

/** Creates a cache whose values have a total size of at most `most`. It evicts the least recently used values first. */
export function createRecent<Value>(most: number): Recent<Value> {
  const kept = new Map<string, { readonly value: Value; readonly size: number }>()
  let total = 0
  return {
    get(name) {
      const found = remove(name)
      if (found !== undefined) add(name, found)
      return found?.value
    },
    set(name, value, size) {
      remove(name)
      if (size > most) return
      add(name, { value, size })
      for (const oldest of kept.keys()) {
        if (total <= most) return
        remove(oldest)
      }
    },
    take: (name) => remove(name)?.value,
  }

  function add(name: string, one: { readonly value: Value; readonly size: number }): void {
    kept.set(name, one)
    total += one.size
  }

  function remove(name: string): { readonly value: Value; readonly size: number } | undefined {
    const found = kept.get(name)
    if (found === undefined) return undefined
    kept.delete(name)
    total -= found.size
    return found
  }
}
