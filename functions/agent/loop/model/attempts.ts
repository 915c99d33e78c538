import { roundRestarted, roundStarted } from '../../../log/run-events.ts'
import { currentAttempt } from '../run-state.ts'
import type { RunState } from '../run-state.ts'
import { roundOf, roundsOf } from '../thread.ts'
import type { Thread } from '../thread.ts'

/** Notifies followers that the thread's next round begins. */
export function startRound(state: RunState, thread: Thread): void {
  state.emit(roundStarted(roundOf(thread), currentAttempt(state, thread)))
}

/** Counts the discarded attempt, and notifies followers to discard its deltas. */
export function restartRound(state: RunState, thread: Thread, reason: string): void {
  const round = roundsOf(thread)
  const before = thread.discarded.round === round ? thread.discarded.attempts : 0
  Object.assign(thread.discarded, { round, attempts: before + 1 })
  state.emit(roundRestarted(roundOf(thread), currentAttempt(state, thread), reason))
}
