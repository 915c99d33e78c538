import { roundRestarted } from '../../../log/run-events.ts'
import { ModelError } from '../../../ports/model.ts'
import type { Completion } from '../../../ports/model.ts'
import type { Asked, SizedRequest } from '../context/context.ts'
import { recordLimit, reducedRequest, rememberContext, sizeReason } from '../context/reduce.ts'
import type { RunState } from '../run-state.ts'
import { roundOf } from '../thread.ts'

/**
 * Sends a request. One that the provider refuses for its size, or perhaps for its size, is sent once more with less, which is recorded
 * before. If a perhaps is refused for another reason again, the cut is taken back, and the first error holds.
 */
export async function sendFitting(
  state: RunState,
  asked: Asked,
  sized: SizedRequest,
  send: (sized: SizedRequest) => Promise<Completion>,
): Promise<Completion> {
  try {
    return await send(sized)
  } catch (failed) {
    const error = modelErrorOf(failed)
    const reason = error && sizeReason(error, asked, sized)
    if (error === undefined || reason === undefined) throw failed
    const takeBack = rememberContext(state, asked)
    const smaller = await reducedRequest(state, asked, { sized, error, reason })
    if (smaller === undefined) throw failed
    state.emit(roundRestarted(roundOf(asked.thread), 'context_reduced'))
    try {
      return await send(smaller)
    } catch (again) {
      const second = modelErrorOf(again)
      if (second?.code === 'context_length') await recordLimit(state, asked, { sized: smaller, error: second })
      if (second?.code !== 'invalid_request' || reason === 'certain') throw again
      await takeBack()
      throw failed
    }
  }
}

/** The reason of a `CompletionFailed`. */
const modelErrorOf = (failed: unknown): ModelError | undefined =>
  failed instanceof Error && failed.cause instanceof ModelError ? failed.cause : undefined
