import { useEffect, useState } from 'preact/hooks'

/** A value that views show, with the subscribers that are notified of changes. */
export interface Store<Value> {
  get(): Value
  set(value: Value): void
  subscribe(listener: () => void): () => void
}

export function createStore<Value>(initial: Value): Store<Value> {
  let current = initial
  const listeners = new Set<() => void>()
  return {
    get: () => current,
    set(value) {
      if (Object.is(value, current)) return
      current = value
      for (const listener of listeners) listener()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}

/** Returns the store's value. The component is rendered again when the value changes. */
export function useStore<Value>(store: Store<Value>): Value {
  const [, render] = useState({})
  useEffect(() => {
    render({})
    return store.subscribe(() => render({}))
  }, [store])
  return store.get()
}
