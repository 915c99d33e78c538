import { isLeaders } from '../../domain/messages/message.ts'
import type { Message } from '../../domain/messages/message.ts'
import { contextBegins } from './request-context.ts'
import type { Decisions } from './request-context.ts'
import { weighStored } from './token-weight.ts'

/** Assumed tokens of a message, used until messages were read. */
const TYPICAL_WEIGHT = 2_000
/** Minimum number of messages per read while reading the current turn. */
const TURN_PAGE = 100
/** Factor by which the loaded tokens may exceed the limit, because a provider may count fewer tokens than the estimate. */
const LOADED = 1.5

export interface ContextWindow {
  /**
   * Adds the next page of a log that is read backwards, newest message first. Returns true when no older messages are
   * needed.
   */
  add(page: readonly Message[]): boolean
  /** Returns how many more messages fill the window, estimated from those read so far; at least 1. */
  wanted(): number
  /** Returns the loaded messages, ascending, and whether they include every message that is sent. */
  loaded(isAtBeginning: boolean): LoadedLog
}

export interface LoadedLog {
  readonly messages: readonly Message[]
  /** Whether the loaded messages include every message that is sent. */
  readonly isWhole: boolean
}

/**
 * Creates a window that limits how much of a log is loaded (promises R7): back to the start of the decided context, or as much
 * as can fit `maxTokens` tokens. The turn of `currentRun` is loaded completely, whatever its size (promises R3). This turn
 * consists of the run's messages and, if the run has no input of its own, those of the runs that it continues. `mediaFrom`:
 * from this message on, earlier turns are sent with their media. Default: all without media.
 */
export function createContextWindow(
  currentRun: string,
  maxTokens: number,
  decisions: Decisions,
  mediaFrom?: string,
): ContextWindow {
  const begin = contextBegins(decisions)
  const turn: Message[] = []
  const older: Message[] = []
  const most = maxTokens * LOADED
  let turnWeight = 0
  let olderWeight = 0
  let turnOpen = true
  /** `reached`: the start of the decided context was read. `skipped`: a message after that start did not fit. */
  let [reached, skipped] = [false, false]

  /** Whether a message is of the current turn. If the run has no input, the turn begins at an earlier input or at the limit. */
  const isOfTurn = (message: Message): boolean =>
    turnOpen && (message.runId === currentRun || (turn.at(-1)?.role !== 'user' && turnWeight <= most))

  function take(message: Message): void {
    if (!isLeaders(message)) {
      // A member needs its messages of this run. Messages of its earlier runs are not sent again.
      if (message.runId === currentRun) turn.push(message)
      return
    }
    if (isOfTurn(message)) {
      turn.push(message)
      turnWeight += weighStored(message, true)
      return
    }
    turnOpen = false
    if (isBefore(message, begin)) reached = true
    if (reached) return
    if (olderWeight > most) {
      skipped = true
      return
    }
    older.push(message)
    olderWeight += weighStored(message, mediaFrom !== undefined && message.id >= mediaFrom)
  }

  return {
    add(page) {
      for (const message of page) take(message)
      return reached || (!turnOpen && olderWeight > most)
    },
    wanted() {
      const count = turn.length + older.length
      const average = count === 0 ? TYPICAL_WEIGHT : (turnWeight + olderWeight) / count
      const more = Math.ceil((most - olderWeight) / average)
      return Math.max(turnOpen ? TURN_PAGE : 1, more)
    },
    loaded: (isAtBeginning) => ({
      messages: [...turn, ...older].toReversed(),
      isWhole: !skipped && (reached || (isAtBeginning && olderWeight <= most)),
    }),
  }
}

const isBefore = (message: Message, begin: ReturnType<typeof contextBegins>): boolean =>
  (begin.from !== undefined && message.id < begin.from) || (begin.after !== undefined && message.id <= begin.after)
