import type { RunEvent } from '../../domain/events.ts'
import type { EventPosition } from '../../domain/runs/event-position.ts'

/** What a write has stored, with its events; `events: undefined`: it has stored nothing. */
export interface Emission<Result> {
  readonly result: Result
  readonly events: readonly RunEvent[] | undefined
}

/**
 * Lets `write` store something at the next position of the holder's sequence, or at the next `count` ones, and then emits its
 * events. Writes may overlap; events are emitted in the order of their positions. Resolves when the events are emitted.
 */
export type EmitInOrder = <Result>(
  write: (position: EventPosition) => Promise<Emission<Result>>,
  count?: number,
) => Promise<Result>

/** The positions of one holder, numbered from 0. */
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
      // Readers of the log wait for a position that is missing: one without a write is used again.
      if (events === undefined && next === number + count) next = number
      await before
      for (const event of events ?? []) emit(event)
      return result
    } finally {
      void before.then(resolve)
    }
  }
}

/** The position that comes so many after this one. */
export const positionAfter = ({ generation, number }: EventPosition, count: number): EventPosition => ({
  generation,
  number: number + count,
})
