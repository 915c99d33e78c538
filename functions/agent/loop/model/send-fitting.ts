import { isRepairable, ModelError } from '../../../ports/model.ts'
import type { Completion } from '../../../ports/model.ts'
import { fittingRequest } from '../context/context.ts'
import type { Asked, SizedRequest } from '../context/context.ts'
import { recordLimit, reducedRequest, sizeReason } from '../context/reduce.ts'
import { sizeTrialOf, undoTrial } from '../context/size-trial.ts'
import type { RunState } from '../run-state.ts'
import { restartRound } from './attempts.ts'
import { CompletionFailed } from './completion-failed.ts'

type Send = (sized: SizedRequest) => Promise<Completion>

/**
 * Sends a request until the provider accepts it. A request that is or may be too long is truncated and sent once more. A request
 * that is still refused for another reason is sent in other forms. Each change is recorded before its request (promises R9).
 */
export async function sendFitting(state: RunState, asked: Asked, sized: SizedRequest, send: Send): Promise<Completion> {
  for (let next = sized; ;) {
    try {
      return await sendOrReduce(state, asked, next, send)
    } catch (failed) {
      const error = modelErrorOf(failed)
      if (error === undefined || !isRepairable(error)) throw failed
      next = await repairOrFail(state, asked, error, failed)
      restartRound(state, asked.thread, 'request_repaired')
    }
  }
}

/**
 * Sends a request. If its length is or may be the reason of a refusal, sends a smaller request once. If the
 * smaller request is refused for another reason, and the length was only a possible reason, undoes the truncation and throws
 * the first error.
 */
async function sendOrReduce(state: RunState, asked: Asked, sized: SizedRequest, send: Send): Promise<Completion> {
  try {
    return await send(sized)
  } catch (failed) {
    const error = modelErrorOf(failed)
    if (error === undefined) throw failed
    const { thread } = asked
    if (isOfAnotherReason(error) && sizeTrialOf(state, thread) === 'open') {
      // A former holder recorded this smaller request. This process does not know the error of the whole request, so it sends
      // the whole request again.
      await undoTrial(state, asked)
      restartRound(state, thread, 'context_reduced')
      return sendOrReduce(state, asked, await fittingRequest(state, asked), send)
    }
    const reason = sizeReason(error, asked, sized)
    if (reason === undefined || (reason === 'possible' && !(await mayTrySmaller(state, asked)))) throw failed
    const smaller = await reducedRequest(state, asked, { sized, error, reason })
    if (smaller === undefined) throw failed
    restartRound(state, thread, 'context_reduced')
    try {
      return await send(smaller)
    } catch (again) {
      const second = modelErrorOf(again)
      const isOther = second !== undefined && isOfAnotherReason(second)
      if (second?.code === 'context_length' && !isOther)
        await recordLimit(state, asked, { sized: smaller, error: second })
      if (!isOther || reason === 'certain') throw again
      await undoTrial(state, asked)
      throw failed
    }
  }
}

const isOfAnotherReason = (error: ModelError): boolean => error.code === 'invalid_request' || isRepairable(error)

/**
 * Whether a smaller request may be tried. It may be tried if no smaller request and no other form was tried for the thread's
 * next completion.
 */
async function mayTrySmaller(state: RunState, asked: Asked): Promise<boolean> {
  if (sizeTrialOf(state, asked.thread) === 'failed') return false
  const { hasRefusedMessages, isInRepair } = await repairs()
  return !isInRepair(state, asked) && !hasRefusedMessages(state, asked)
}

/**
 * Returns the refused request in its next form. If no form is left, rejects with an error that names the message that the
 * provider means.
 */
async function repairOrFail(state: RunState, asked: Asked, error: ModelError, failed: unknown): Promise<SizedRequest> {
  const { refusalOfMessage, repairedRequest } = await repairs()
  const repaired = await repairedRequest(state, asked, error)
  if (repaired !== undefined) return repaired
  const streamed = failed instanceof CompletionFailed ? failed.streamed : []
  throw new CompletionFailed(await refusalOfMessage(state, asked, error), streamed)
}

const repairs = () => import('../context/repair.ts')

/** The reason of a `CompletionFailed`. */
const modelErrorOf = (failed: unknown): ModelError | undefined =>
  failed instanceof CompletionFailed && failed.cause instanceof ModelError ? failed.cause : undefined
