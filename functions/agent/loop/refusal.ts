import { MOST_CALLS } from '../../domain/message.ts'
import type { AssistantMessage } from '../../domain/message.ts'
import type { StopReason } from '../../domain/run.ts'
import { ownMessages, roundsOf } from './thread.ts'
import type { Thread } from './thread.ts'

export type LastRound = Extract<StopReason, 'max_rounds' | 'budget'>

/** Why the thread's round of this number must be its last, if it must; left out: the next one. */
export function lastRoundReason(thread: Thread, round = roundsOf(thread)): LastRound | undefined {
  const { maxRounds, maxRunTokens } = thread.agent.policies
  if (round >= maxRounds) return 'max_rounds'
  if (maxRunTokens !== null && tokensBefore(thread, round) >= maxRunTokens) return 'budget'
  return undefined
}

function tokensBefore(thread: Thread, round: number): number {
  return ownMessages(thread).reduce(
    (sum, one) => sum + (one.role === 'assistant' && one.round < round ? (one.usage?.totalTokens ?? 0) : 0),
    0,
  )
}

/** Whether the provider's output limit cut the completion off: its last call may lack arguments, and still be valid JSON. */
export const isCutShort = ({ finishReason }: Pick<AssistantMessage, 'finishReason'>): boolean =>
  finishReason === 'length'

/**
 * Why the call at this place of a completion is not executed, if it is not. Decided from the log alone, so that whoever takes
 * the run over decides the same.
 */
export function refusalOf(thread: Thread, asked: AssistantMessage, sequence: number): string | undefined {
  if (isCutShort(asked))
    return 'not executed: the completion was cut off by its output limit before its calls were whole. Ask for less at a time'
  const last = lastRoundReason(thread, asked.round)
  if (last !== undefined) return `this was the run's last round (${last}): no further calls`
  if (sequence >= MOST_CALLS) return `not executed: of one round's calls, the first ${MOST_CALLS} are`
  return undefined
}

/** Why the run is over now that its last round's calls are closed; undefined where it goes on. */
export function endedBy(thread: Thread): LastRound | undefined {
  const last = ownMessages(thread).findLast((message) => message.role !== 'tool')
  return last?.role === 'assistant' && last.toolCalls.length > 0 ? lastRoundReason(thread, last.round) : undefined
}
