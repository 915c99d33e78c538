import type { Loop } from './open-rounds.ts'

/**
 * Maximum number of remembered names, and maximum number of characters in all names and values together. A log may have
 * a million names.
 */
const MAX_NAMES = 100_000
const MAX_CHARACTERS = 32 * 1024 * 1024

/** A bounded map that drops the oldest entries. */
export interface Newest<Name, Value> {
  get(name: Name): Value | undefined
  /** Sets a value. At the limit, the entries that were set least recently are dropped. */
  set(name: Name, value: Value): void
  clear(): void
}

/** Creates an empty map. `lengthOf` returns the characters that an entry occupies. */
export function createNewest<Name, Value>(lengthOf: (name: Name, value: Value) => number): Newest<Name, Value> {
  const kept = new Map<Name, Value>()
  let characters = 0
  const remove = (name: Name): void => {
    const value = kept.get(name)
    if (value === undefined) return
    kept.delete(name)
    characters -= lengthOf(name, value)
  }
  return {
    get: (name) => kept.get(name),
    set(name, value) {
      remove(name)
      kept.set(name, value)
      characters += lengthOf(name, value)
      for (const oldest of kept.keys()) {
        if (kept.size <= MAX_NAMES && characters <= MAX_CHARACTERS) return
        remove(oldest)
      }
    },
    clear() {
      kept.clear()
      characters = 0
    },
  }
}

/** Creates a bounded map with one value per loop. */
export const createLoops = <Value>(): Newest<Loop, Value> => createNewest(lengthOfLoop)

function lengthOfLoop(loop: Loop): number {
  if (typeof loop !== 'object') return loop?.length ?? 0
  return loop.toolCallId.length + (loop.parentToolCallId?.length ?? 0)
}
