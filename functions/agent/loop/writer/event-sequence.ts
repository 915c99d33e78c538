import type { RunEvent } from '../../../domain/events.ts'
import type { EventPosition } from '../../../domain/runs/event-position.ts'

/** The result of a write and its events. `events: undefined`: the write stored nothing. */
export interface Emission<Result> {
  readonly result: Result
  readonly events: readonly RunEvent[] | undefined
}

/**
 * Reserves the next position of the holder's sequence (or the next `count` positions) for `write`, then emits the
 * write's events. Writes may overlap; events are emitted in the order of their positions. Resolves when the events are
 * emitted.
 */
export type EmitInOrder = <Result>(
  write: (position: EventPosition) => Promise<Emission<Result>>,
  count?: number,
) => Promise<Result>

/** Numbers the positions of one holder, starting at 0. */
export function createEventSequence(generation: number, emit: (event: RunEvent) => void): EmitInOrder {
  let next = 0
  let settled: Promise<void> = Promise.resolve()
  return async (write, count = 1) => {
    const number = next
    next += count
    const before = settled
    const { promise, resolve } = Promise.withResolvers<void>()
    settled = promise
    try {
      const { result, events } = await write({ generation, number })
      // If the write stored nothing, its position is used again, because log readers wait for a missing position.
      if (events === undefined && next === number + count) next = number
      await before
      for (const event of events ?? []) emit(event)
      return result
    } finally {
      void before.then(resolve)
    }
  }
}

/** Returns the position whose number is greater by `count`. */
export const positionAfter = ({ generation, number }: EventPosition, count: number): EventPosition => ({
  generation,
  number: number + count,
})
