import type { Run } from '../../domain/runs/run.ts'
import { createLoops, type Newest } from '../../log/import/newest.ts'
import { loopOf, type Loop } from '../../log/import/open-rounds.ts'
import type { PlacedMessage } from './closed-turns.ts'

/** A turn of an import, of which a beginning is in the log. */
export interface BegunTurn {
  readonly turn: number
  /** The run that holds the last of it; undefined: its rest becomes a run of its own. */
  readonly run?: Run
  /** What the run holds of the turn: all that is stored, only a later part, or what an earlier call has left in the log. */
  readonly holds: 'all' | 'rest' | 'earlier'
  /** By how much rounds of the turn are less, or more, in the run; by loop, for those that have come up. */
  readonly moved: Newest<Loop, number>
}

/** Numbers the rounds of one step. */
export interface StepRounds {
  /** The round of a message in its run. Messages come in their order. */
  of(placed: PlacedMessage): Promise<number>
  /** How the last turn has been numbered, once this step is stored. */
  moved(): Pick<BegunTurn, 'holds' | 'moved'>
}

/**
 * Rounds count from 0 in each loop of a run, also where the run holds no beginning of its turn. `storedRounds`: how many the
 * loop of a message has in the run that an earlier call has left.
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
