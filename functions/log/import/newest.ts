import type { Loop } from './open-rounds.ts'

/** Names that are remembered, the newest, and their characters with those of their values: a log may have a million. */
const MAX_NAMES = 100_000
const MAX_CHARACTERS = 32 * 1024 * 1024

/** Remembers what came last, whatever an import holds. */
export interface Newest<Name, Value> {
  get(name: Name): Value | undefined
  /** What was not set for longest leaves. */
  set(name: Name, value: Value): void
  clear(): void
}

/** Nothing yet. `lengthOf`: characters that are kept with a name. */
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

/** What is known of the loops of a turn. */
export const createLoops = <Value>(): Newest<Loop, Value> => createNewest(lengthOfLoop)

function lengthOfLoop(loop: Loop): number {
  if (typeof loop !== 'object') return loop?.length ?? 0
  return loop.toolCallId.length + (loop.parentToolCallId?.length ?? 0)
}
