import type { Cut, Scale } from '../../domain/context.ts'
import { groupTurns } from '../turns.ts'
import { replayEach } from '../replay.ts'
import { isConversational, openingOf, withinContext } from './request-context.ts'
import { tokensOf } from './request-size.ts'
import type { Measured } from './request-size.ts'
import { weighMessages } from './token-weight.ts'

/**
 * Minimum, preferred and maximum size of a truncated request, as shares of the limit. If no round
 * begins in this range, the size is outside of it. The shares are low, so that the next truncation is not needed soon.
 */
const [MIN_SHARE, MIDDLE_SHARE, MAX_SHARE] = [0.35, 0.55, 0.75]
/** Maximum share of a rejected request that is kept. */
const AFTER_REFUSAL = 2 / 3

/** Counts of the messages that are older than the loaded ones. The older messages are no longer sent. */
export interface Older {
  readonly messages: number
  readonly conversational: number
}

/** A possible position of a truncation. A long log has thousands of them, so the `Cut` is built only for the chosen one. */
interface Candidate {
  readonly from: string
  /** Number of the turn's inputs before this position. These inputs are kept. */
  readonly kept: number
  readonly tokens: number
}

/**
 * Returns the truncation for a request of more than `maxTokens` tokens; undefined if nothing more can be dropped. It drops whole
 * rounds, oldest first: those of earlier runs, then those of the current turn. It never drops the turn's inputs. The remaining
 * request fills between 35 and 75 % of `maxTokens`, if a round begins in that range.
 */
export function cutToFit(of: Measured, scale: Scale, maxTokens: number, older: Older): Cut | undefined {
  const { found, inputs } = candidates(of, scale)
  const distance = ({ tokens }: Candidate): number => Math.abs(tokens - maxTokens * MIDDLE_SHARE)
  const between = found.filter(({ tokens }) => tokens >= maxTokens * MIN_SHARE && tokens <= maxTokens * MAX_SHARE)
  const nearest = between.toSorted((one, other) => distance(one) - distance(other))[0]
  return cutAt(of, nearest ?? found.find(({ tokens }) => tokens <= maxTokens) ?? found.at(-1), inputs, older)
}

/**
 * Returns the truncation after a provider rejected a request. `tokens`: the estimated tokens of that request. The truncation
 * keeps at most two thirds of them, and at most `maxTokens`.
 */
export function cutAfterRefusal(
  of: Measured,
  scale: Scale,
  tokens: number,
  older: Older,
  maxTokens = Infinity,
): Cut | undefined {
  const { found, inputs } = candidates(of, scale)
  const most = Math.min(tokens * AFTER_REFUSAL, maxTokens)
  return cutAt(of, found.find((one) => one.tokens <= most) ?? found.at(-1), inputs, older)
}

/** Builds the truncation at a position. `inputs`: the ids of the turn's inputs, in order. */
function cutAt(of: Measured, place: Candidate | undefined, inputs: readonly string[], older: Older): Cut | undefined {
  if (place === undefined) return undefined
  return { from: place.from, kept: inputs.slice(0, place.kept), ...countBefore(of, place.from, older) }
}

/** Returns every truncation that drops more than the current one, largest request first. */
function candidates(of: Measured, scale: Scale): { readonly found: readonly Candidate[]; readonly inputs: string[] } {
  const { context } = of
  const sent = withinContext(of.messages, context)
  const replayed = replayEach(sent, of).map(({ message, sent: parts }) => ({ message, weight: weighMessages(parts) }))
  const turns = groupTurns(sent, context.cut)
  // A run that continues without an input has no message at first, so it belongs to the last turn.
  const turn = new Set(turns.findLast((one) => one.some(({ runId }) => runId === of.currentRun)) ?? turns.at(-1))
  const opening = weighMessages(openingOf({ ...context, cut: context.cut ?? NO_CUT })) + of.declarations
  let rest = replayed.reduce((sum, { weight }) => sum + weight, 0)
  let keptWeight = 0
  const inputs: string[] = []
  const found: Candidate[] = []
  for (const [index, { message, weight }] of replayed.entries()) {
    const isInput = message.role === 'user' && turn.has(message)
    // A truncation never begins at an input that an earlier truncation kept. Otherwise, the dropped messages that
    // follow this input in the log would be sent again.
    const isBehind = message.id < (context.cut?.from ?? '')
    if (!isBehind && (index > inputs.length || (index === 0 && !of.isWhole))) {
      const tokens = tokensOf(scale, opening + keptWeight + rest)
      found.push({ from: message.id, kept: inputs.length, tokens })
    }
    rest -= weight
    if (!isInput) continue
    inputs.push(message.id)
    keptWeight += weight
  }
  return { found, inputs }
}

const NO_CUT: Cut = { from: '', kept: [], messages: 0, conversational: 0 }

function countBefore({ messages, context }: Measured, from: string, older: Older): Older {
  const begin = context.cut?.from ?? ''
  const left = messages.filter(
    ({ id, parentToolCallId }) =>
      parentToolCallId === undefined && id >= begin && id < from && id > (context.summary?.through ?? ''),
  )
  const before = context.cut ?? older
  return {
    messages: before.messages + left.length,
    conversational: before.conversational + left.filter(isConversational).length,
  }
}
