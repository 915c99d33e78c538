import type { AssistantMessage } from '../messages/message.ts'
import type { Run } from './run.ts'

/**
 * Maximum number of attempts at one completion that one holder can number. A holder makes at most about 50: retries,
 * and requests in a changed form.
 */
const ATTEMPTS_OF_HOLDER = 64

/** The state from which a holder numbers its attempts at a thread's next completion. */
export interface AttemptState {
  readonly run: Pick<Run, 'startGeneration' | 'notices'>
  /** The stored completions of the thread in this run. */
  readonly completions: readonly Pick<AssistantMessage, 'position'>[]
  /** The generation of the holder's lease. */
  readonly generation: number
  /** Number of attempts at this completion that the holder has discarded. */
  readonly discarded: number
}

/**
 * The number of an attempt at a completion. The first attempt has 0. A later attempt has a greater
 * number, even if another holder makes the attempt. Numbers may have gaps.
 */
export function attemptNumber({ generation, discarded, ...state }: AttemptState): number {
  const first = firstGeneration(state) ?? generation
  return (generation - first) * ATTEMPTS_OF_HOLDER + Math.min(discarded, ATTEMPTS_OF_HOLDER - 1)
}

/**
 * The first generation that could request the thread's next completion. It does not depend on writes of other threads,
 * so all holders that request this completion compute an equal value. Undefined for a run that an earlier version
 * started.
 */
function firstGeneration({ run, completions }: Pick<AttemptState, 'run' | 'completions'>): number | undefined {
  const pause = run.notices?.findLast(({ type }) => type === 'run.paused')
  const paused = pause?.type === 'run.paused' ? pause.generation : undefined
  const generations = [
    run.startGeneration,
    ...completions.map(({ position }) => position?.generation),
    // After the pause, the lease was released and acquired again. Both operations raised the generation by one.
    paused === undefined ? undefined : paused + 2,
  ].filter((one) => one !== undefined)
  return generations.length === 0 ? undefined : Math.max(...generations)
}

/** The field of an attempt's number. It is absent for the first attempt. */
export const attemptField = (attempt: number | undefined): { readonly attempt?: number } =>
  attempt === undefined || attempt === 0 ? {} : { attempt }
