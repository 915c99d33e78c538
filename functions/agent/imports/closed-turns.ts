import type { ClosedMessage } from '../../domain/messages/closed-message.ts'
import { createLoops } from '../../log/import/newest.ts'
import { loopOf } from '../../log/import/open-rounds.ts'

/** A message with its place in a run. */
export interface PlacedMessage {
  readonly message: ClosedMessage
  /** Counts the runs of an import; the same for all messages of one. */
  readonly turn: number
  readonly round: number
  /** As in a message of ours. */
  readonly searched?: true
}

/** Rows that a message is stored as: the numbers of sources that a completion records are one of their own. */
export const rowsOf = (message: ClosedMessage): number =>
  message.role === 'assistant' && message.numbered !== undefined ? 2 : 1

/** Tells where runs begin: where the source says so, otherwise with each message of a user. */
export function createClosedTurns() {
  let turn = 0
  let run: string | undefined
  let before: ClosedMessage | undefined
  /** Completions so far in this turn, by loop. */
  const rounds = createLoops<number>()
  return {
    place(message: ClosedMessage): PlacedMessage {
      if (before !== undefined && begins(message)) {
        turn++
        rounds.clear()
      }
      run = message.run
      before = message
      return { message, turn, round: message.round ?? roundOf(message) }
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

/** Whether it is what a person says to the session's agent. */
export const isInput = (message: ClosedMessage): boolean =>
  message.role === 'user' && message.parentToolCallId === undefined
