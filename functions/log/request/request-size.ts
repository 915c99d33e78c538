import type { Scale, SessionContext } from '../../domain/context.ts'
import type { AssistantMessage, Message } from '../../domain/messages/message.ts'
import { replay } from '../replay.ts'
import type { ReplayOptions } from '../replay.ts'
import { withinContext } from './request-context.ts'
import { recordedNumbers } from '../sources.ts'
import { weighMessages } from './token-weight.ts'

/**
 * Number of tokens at which a newly measured rate and the previous rate have equal weight. For fewer tokens, the
 * previous rate has more weight.
 */
const LEARNED_OVER = 2_000
const [MIN_RATE, MAX_RATE] = [0.2, 5]
/**
 * Number of tokens by which a plausible usage may differ from the estimate, regardless of the rate. Some providers do
 * not count tools.
 */
const LEEWAY = 1_000

/** Inputs for measuring a request's size. */
export interface Measured extends ReplayOptions {
  /** The loaded messages of the log, ids ascending. */
  readonly messages: readonly Message[]
  readonly context: SessionContext
  /** Weight of the instructions and the declared tools. */
  readonly declarations: number
  /** Whether `messages` has every message that is sent. */
  readonly isWhole: boolean
}

/** Estimates the tokens of a request with this weight. */
export const tokensOf = (scale: Scale, weight: number): number =>
  Math.max(0, Math.round(scale.tokens + scale.rate * (weight - scale.weight)))

/** Returns the weight of the request that is built from the log and the decisions. */
const weightOf = (of: Measured): number => of.declarations + weighMessages(replay(of.messages, of))

/**
 * Derives a scale from the usage that the provider reported. The scale has the tokens of the last request, and the
 * tokens per unit of weight between the first completion and the last one. So the scale reflects how the model's
 * tokenizer counts the writing systems of this session. The scale is a pure function of the log and the decisions.
 */
export function scaleOf(of: Measured): Scale {
  const { decided } = of.context
  const sent = withinContext(of.messages, of.context)
  const counted = sent.filter(
    (message): message is Counted =>
      message.role === 'assistant' &&
      message.recordedAt === undefined &&
      (message.usage?.inputTokens ?? 0) > 0 &&
      message.id > (decided?.at ?? ''),
  )
  const [first, last] = [counted[0], counted.at(-1)]
  if (last === undefined) return decided?.scale ?? { ...NOTHING, rate: 1 }
  // A completion records the source numbers of the request that led to the completion.
  const numbers = new Map([...recordedNumbers(of.messages), ...(of.numbers ?? [])])
  const at = (message: Counted): Point => ({
    weight: weightBefore({ ...of, numbers }, message),
    tokens: message.usage.inputTokens,
  })
  const end = at(last)
  if (!isCredible(end)) return decided?.scale ?? { ...NOTHING, rate: 1 }
  const begin = first === undefined || first === last ? (decided === undefined ? NOTHING : end) : at(first)
  const rate = rateBetween(begin, end, decided?.scale.rate ?? 1)
  return of.isWhole ? { ...end, rate } : { ...NOTHING, rate }
}

type Counted = AssistantMessage & { readonly usage: { readonly inputTokens: number } }
type Point = Pick<Scale, 'weight' | 'tokens'>

const NOTHING: Point = { weight: 0, tokens: 0 }

/** Whether a usage is plausible. Some servers report equal usage for every request, or count something else. */
const isCredible = ({ weight, tokens }: Point): boolean =>
  tokens >= MIN_RATE * (weight - LEEWAY) && tokens <= MAX_RATE * (weight + LEEWAY)

/** Returns the weight of the request that led to this completion. */
function weightBefore(of: Measured, completion: AssistantMessage): number {
  const messages = of.messages.filter(({ id }) => id < completion.id)
  return weightOf({ ...of, messages, currentRun: completion.runId })
}

function rateBetween(begin: Point, end: Point, before: number): number {
  const weight = end.weight - begin.weight
  if (weight <= 0) return before
  const rate = (end.tokens - begin.tokens + before * LEARNED_OVER) / (weight + LEARNED_OVER)
  return Math.min(MAX_RATE, Math.max(MIN_RATE, rate))
}
