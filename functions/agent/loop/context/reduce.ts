import { definedFields } from '../../../domain/defined-fields.ts'
import { cutAfterRefusal } from '../../../log/request/context-cut.ts'
import { contextTokensOf, limitsAfter, targetAfter } from '../../../log/request/context-sizes.ts'
import { isMadeBy } from '../../../log/request/request-form.ts'
import { isRefusal, isTooLarge } from '../../../ports/model.ts'
import type { ModelError } from '../../../ports/model.ts'
import { warning } from '../notices.ts'
import { recordDecision } from '../record-decision.ts'
import type { RunState } from '../run-state.ts'
import type { Thread } from '../thread.ts'
import { measure, requested, withCut } from './context.ts'
import type { Asked, SizedRequest } from './context.ts'
import { beginTrial } from './size-trial.ts'

/** Size of a request, in tokens, that every model is assumed to accept. */
const MIN_TAKEN_TOKENS = 4_000

/**
 * Whether the length may be the reason of a refusal. `certain`: the provider says so. `possible`: the provider says only that the
 * request is too large, or it gives another reason for a large request. A request is large if it fills more than half of the
 * assumed context, or if it has more tokens than `takenTokens`.
 */
export function sizeReason(
  error: ModelError,
  { thread }: Asked,
  { tokens }: Pick<SizedRequest, 'tokens'>,
): 'certain' | 'possible' | undefined {
  if (isTooLarge(error)) return 'possible'
  if (error.code === 'context_length') return 'certain'
  if (!isRefusal(error)) return undefined
  const isLarge = tokens > contextTokensOf(thread.agent) / 2 || tokens > takenTokens(thread)
  return isLarge ? 'possible' : undefined
}

/**
 * Returns the tokens of the largest request of the thread that its model has accepted, as the provider counted them. The minimum
 * is `MIN_TAKEN_TOKENS`.
 */
function takenTokens({ messages, agent }: Thread): number {
  const taken = messages.flatMap((one) =>
    one.role === 'assistant' && isMadeBy(one, agent.model) ? [one.usage?.inputTokens ?? 0] : [],
  )
  return Math.max(MIN_TAKEN_TOKENS, ...taken)
}

interface Refused {
  readonly sized: SizedRequest
  readonly error: ModelError
  readonly reason: 'certain' | 'possible'
}

/**
 * Truncates a request that was refused for its size. The result has at most two thirds of the request's tokens, and fits the
 * limit that the provider names. Records the truncation with a warning. Returns undefined if no message can be omitted. If the
 * size is certainly the reason, records the model's limit, even if no message can be omitted. If the size is only a possible
 * reason, records the truncation as a trial.
 */
export async function reducedRequest(
  state: RunState,
  asked: Asked,
  { sized, error, reason }: Refused,
): Promise<SizedRequest | undefined> {
  const refusal = { estimate: sized.tokens, ...error.size }
  const of = await requested(state, asked)
  const { decided } = of.context
  const { model } = asked.thread.agent
  const limits = reason === 'certain' ? limitsAfter(decided.limits, model, refusal) : decided.limits
  const known = { ...of, context: { ...of.context, decided: { ...decided, ...definedFields({ limits }) } } }
  const whole = measure(known)
  const cut = cutAfterRefusal(whole.of, whole.scale, sized.tokens, await of.older(), targetAfter(refusal))
  const smaller = withCut(known, whole, cut)
  if (smaller?.decision === undefined) {
    if (limits !== decided.limits) await recordDecision(state, { context: known.context.decided, notices: [] }, asked)
    return undefined
  }
  const refused = reason === 'certain' ? ' as too long' : ', perhaps for its size'
  const detail = `the model rejected a request of about ${sized.tokens} tokens${refused}: older messages were omitted, and about ${smaller.tokens} tokens remain`
  const notice = warning(asked.thread, 'context_reduced', detail)
  const trial = reason === 'possible' ? { trial: beginTrial(state, asked) } : {}
  await recordDecision(state, { context: { ...smaller.decision, ...trial }, notices: [notice] }, asked)
  return smaller
}

/** Records the limit of the model that a refusal shows, for later runs. This run fails. */
export async function recordLimit(
  state: RunState,
  asked: Asked,
  { sized, error }: Omit<Refused, 'reason'>,
): Promise<void> {
  const { decided } = (await requested(state, asked)).context
  const refusal = { estimate: sized.tokens, ...error.size }
  const limits = limitsAfter(decided.limits, asked.thread.agent.model, refusal)
  if (limits === undefined || limits === decided.limits) return
  await recordDecision(state, { context: { ...decided, limits }, notices: [] }, asked)
}
