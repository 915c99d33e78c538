import type { Run } from '../../domain/runs/run.ts'
import { createLoops, type Newest } from '../../log/import/newest.ts'
import { loopOf, type Loop } from '../../log/import/open-rounds.ts'
import type { PlacedMessage } from './closed-turns.ts'

/** A turn of an import whose first messages are in the log. */
export interface BegunTurn {
  readonly turn: number
  /** The run that holds the turn's last stored message. If undefined, the rest of the turn becomes a separate run. */
  readonly run?: Run
  /**
   * The part of the turn that the run holds. `all`: all stored messages. `rest`: only a later part. `earlier`: messages that an
   * earlier call of the import stored.
   */
  readonly holds: 'all' | 'rest' | 'earlier'
  /** For each loop that has occurred: the difference between a round's number in the run and its number in the turn. */
  readonly moved: Newest<Loop, number>
}

/** Assigns numbers to the rounds of one step. */
export interface StepRounds {
  /** Returns the number of a message's round within its run. Messages must be passed in order. */
  of(placed: PlacedMessage): Promise<number>
  /** Returns the numbering state of the last turn, after this step is stored. */
  moved(): Pick<BegunTurn, 'holds' | 'moved'>
}

/**
 * Numbers rounds from 0 in each loop of a run, even if the run does not hold the start of its turn. `storedRounds` counts the
 * rounds that a message's loop has in a run that an earlier call stored.
 */
export function createStepRounds(
  begun: BegunTurn | undefined,
  storedRounds: (message: PlacedMessage['message'], run: Run) => Promise<number>,
): StepRounds {
  let turn = begun?.turn
  let holds = begun?.holds ?? 'all'
  let before = begun?.moved
  const added = new Map<Loop, number>()
  return {
    async of(placed) {
      if (placed.turn !== turn) {
        turn = placed.turn
        holds = 'all'
        before = undefined
        added.clear()
      }
      if (holds === 'all') return placed.round
      const loop = loopOf(placed.message)
      const by = added.get(loop) ?? before?.get(loop) ?? (await movedBy(placed))
      added.set(loop, by)
      return Math.max(0, placed.round + by)
    },
    moved() {
      const moved = before ?? createLoops<number>()
      for (const [loop, by] of added) moved.set(loop, by)
      return { holds, moved }
    },
  }

  async function movedBy({ message, round }: PlacedMessage): Promise<number> {
    const run = begun?.run
    const stored = holds === 'earlier' && run !== undefined ? await storedRounds(message, run) : 0
    return stored - (message.role === 'tool' ? round + 1 : round)
  }
}
