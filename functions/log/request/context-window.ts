import { isLeaders } from '../../domain/messages/message.ts'
import type { Message } from '../../domain/messages/message.ts'
import { contextBegins } from './request-context.ts'
import type { Decisions } from './request-context.ts'
import { weighStored } from './token-weight.ts'

/** Assumed tokens per message before any message is known. */
const TYPICAL_WEIGHT = 2_000
/** At least this many messages are read at a time while reading the current turn. */
const TURN_PAGE = 100
/** More than fits is loaded, because a provider may count fewer tokens than a text weighs. */
const LOADED = 1.5

export interface ContextWindow {
  /** Takes the next page of a log read backwards, newest message first. Returns true when no older ones are needed. */
  add(page: readonly Message[]): boolean
  /** How many more messages fill the window, if they are like those so far; at least 1. */
  wanted(): number
  /** The loaded messages, ascending, and whether they include everything that is sent. */
  loaded(isAtBeginning: boolean): LoadedLog
}

export interface LoadedLog {
  readonly messages: readonly Message[]
  /** Nothing that is sent is missing. */
  readonly isWhole: boolean
}

/**
 * Bounds how much of a log is loaded (promises R7): back to where the decided context begins, or as much as can fit `maxTokens` tokens.
 * The turn of `currentRun` is loaded whole, whatever its size (promises R3): its messages and, if it has no input of its own, those
 * of the runs that it continues. `mediaFrom`: from there on media of earlier turns go out; left out: nowhere.
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
  /** Where the decided context begins, and that something after it was too much. */
  let [reached, skipped] = [false, false]

  /** For a run without an input, the run that it continues is searched for as far as the room allows. */
  const isOfTurn = (message: Message): boolean =>
    turnOpen && (message.runId === currentRun || (turn.at(-1)?.role !== 'user' && turnWeight <= most))

  function take(message: Message): void {
    if (!isLeaders(message)) {
      // A member goes on where it was; what it did in an earlier run goes out no more.
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
