import { expect } from 'vitest'

/** Lets another process write between the read and the write of an operation. */
export function createInterloper() {
  let waiting: (() => Promise<unknown>) | undefined
  return {
    /** Wraps each request of the engine. */
    async between<T>(request: () => Promise<T>, kind?: 'read' | 'write'): Promise<T> {
      const first = kind === 'write' ? waiting : undefined
      if (first !== undefined) waiting = undefined
      await first?.()
      return request()
    },
    /** Executes `work`, and executes `other` immediately before the first write of `work`. Returns the result of `work`. */
    async amid<T>(other: () => Promise<unknown>, work: () => Promise<T>): Promise<T> {
      waiting = other
      const result = await work()
      expect(waiting, 'the work writes nothing').toBeUndefined()
      return result
    },
  }
}
