/**
 * The position of a stored event among those of its run. A holder numbers its stored events from 0, in the order in
 * which it emits them; a later holder has a greater generation. So every reader that derives the events from the log
 * gets them in the order in which they were emitted.
 */
export interface EventPosition {
  readonly generation: number
  readonly number: number
}

/** Compares two positions. The result is negative if `left` comes first, and 0 if both are equal. */
export const comparePositions = (left: EventPosition, right: EventPosition): number =>
  left.generation - right.generation || left.number - right.number

/** Whether no other event of the same holder can be between the two. */
export const isNextPosition = (next: EventPosition, last: EventPosition): boolean =>
  next.generation === last.generation && next.number === last.number + 1
