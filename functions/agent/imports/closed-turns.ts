import { definedFields } from '../../domain/defined-fields.ts'
import { createMarkedRuns } from './imported-replacements.ts'
import type { ClosedMessage } from '../../domain/messages/closed-message.ts'
import { rowsOfNumbers } from '../../domain/messages/source.ts'
import { createLoops } from '../../log/import/newest.ts'
import { loopOf } from '../../log/import/open-rounds.ts'

/** A message with its place in a run. */
export interface PlacedMessage {
  readonly message: ClosedMessage
  /** Number of the run within the import; messages of one run have the same number. */
  readonly turn: number
  readonly round: number
  /** Set for the first message of a run that supersedes others: the original id of the first superseded run. */
  readonly replaces?: string
  /** Whether the history was searched before this message. Same meaning as `searched` of a stored `Message`. */
  readonly searched?: true
}

/** Returns the number of rows that a message needs. The source numbers of a completion need additional rows. */
export const rowsOf = (message: ClosedMessage): number =>
  1 + (message.role === 'assistant' ? rowsOfNumbers(message.numbered?.results.length ?? 0) : 0)

/**
 * Assigns messages to runs. A run begins where the source says so. If the source says nothing, each user message begins a run.
 */
export function createClosedTurns() {
  let turn = 0
  let run: string | undefined
  const marks = createMarkedRuns()
  let before: ClosedMessage | undefined
  /** Number of completions so far in this turn, by loop. */
  const rounds = createLoops<number>()
  return {
    place(message: ClosedMessage): PlacedMessage {
      if (before !== undefined && begins(message)) {
        turn++
        rounds.clear()
      }
      run = message.run
      before = message
      const replaces = marks.take(message)
      return { message, turn, round: message.round ?? roundOf(message), ...definedFields({ replaces }) }
    },
  }

  function begins(message: ClosedMessage): boolean {
    if (message.run !== undefined || run !== undefined) return message.run !== run
    return isInput(message)
  }

  function roundOf(message: ClosedMessage): number {
    const loop = loopOf(message)
    const count = rounds.get(loop) ?? 0
    if (message.role === 'tool') return Math.max(0, count - 1)
    if (message.role === 'assistant') rounds.set(loop, count + 1)
    return count
  }
}

/** Whether the message is a person's input to the session's agent. */
export const isInput = (message: ClosedMessage): boolean =>
  message.role === 'user' && message.parentToolCallId === undefined
