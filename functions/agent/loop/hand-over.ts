import { ModelError } from '../../ports/model.ts'
import type { Completion } from '../../ports/model.ts'
import { CompletionFailed } from './completion-request.ts'
import { roundsOf } from './run-state.ts'
import type { RunState } from './run-state.ts'

/** Why a model's answer is cut off: no process may run for longer, or this one was told to stop. */
export class CutOff extends Error {
  readonly why: 'out_of_time' | 'told_to_stop'
  constructor(why: CutOff['why']) {
    super(why === 'out_of_time' ? 'no process may run for longer' : 'this process was told to stop')
    this.name = 'CutOff'
    this.why = why
  }
}

/** What asks for a run to be handed over: after the round that it is in, or, with a `CutOff`, out of the middle of an answer. */
export interface HandOver {
  readonly afterRound: AbortSignal
  readonly atOnce: AbortSignal
}

/**
 * The model's answer, asked for with a `signal` that may cut it off: then nothing of it is stored, and this is undefined, for
 * somebody else asks again. Rejects with `CompletionFailed` where it `isWhole`, that is had all the time that any process has, and
 * that was not enough.
 */
export async function completeUnlessCut(
  state: RunState,
  ask: (signal: AbortSignal) => Promise<Completion>,
  { signal, isWhole }: { readonly signal: AbortSignal; readonly isWhole: boolean },
): Promise<Completion | undefined> {
  try {
    return await ask(signal)
  } catch (error) {
    if (!(error instanceof CompletionFailed) || !(error.cause instanceof CutOff)) throw error
    if (isWhole && error.cause.why === 'out_of_time') {
      const text = 'the model took longer for its answer than one process may run'
      throw new CompletionFailed(new ModelError('timeout', text, { retryable: false, cause: error }), error.streamed)
    }
    const round = roundsOf(state)
    state.emit({ type: 'round.restarted', runId: state.held.run.id, round, reason: 'handed_over' })
    return undefined
  }
}
