import type { Agent, Consolidation } from '../../../domain/agent.ts'
import type { SessionContext, Summary, SummaryWork } from '../../../domain/context.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { isLeaders, textOf } from '../../../domain/messages/message.ts'
import { keyOf } from '../../../domain/session.ts'
import type { SessionKey } from '../../../domain/session.ts'
import { addUsage, NO_USAGE } from '../../../domain/usage/usage.ts'
import type { Usage } from '../../../domain/usage/usage.ts'
import { createCollector, summaryRequestText } from '../../../log/request/consolidation.ts'
import type { Consolidated } from '../../../log/request/consolidation.ts'
import { limitsAfter, requestTokensOf, targetAfter } from '../../../log/request/context-sizes.ts'
import type { SizeRefusal } from '../../../log/request/context-sizes.ts'
import { isConversational } from '../../../log/request/request-context.ts'
import { scaleOf } from '../../../log/request/request-size.ts'
import { weighDeclarations, weighMessages } from '../../../log/request/token-weight.ts'
import { SUMMARY_PROMPT } from '../../../log/request/summary-prompt.ts'
import type { Clock } from '../../../ports/clock.ts'
import { isRefusal, isTooLarge, ModelError } from '../../../ports/model.ts'
import type { Models } from '../../../ports/model.ts'
import { raceAbort, withinTime } from '../../../domain/time/time-limit.ts'
import { requestCompletion } from '../model/complete.ts'
import { CompletionFailed } from '../model/completion-failed.ts'
import { readBack } from './context.ts'
import type { LoadedContext, MessageReader } from './context.ts'
import type { LeaseKeeper } from '../writer/lease-keeper.ts'
import { OPEN_MS } from '../open-thread.ts'

/**
 * Share of a summary request that the messages to summarise may fill. The rest is for the prompt, the former summary
 * and the completion.
 */
const MATERIAL = 0.6

/** Maximum number of retries of a summary whose request was refused for its size. Each retry has less material. */
const MAX_REDUCTIONS = 3
/** Each retry summarises at most this share of the material of the refused request. */
const LESS = 0.5

/** Summarising failed. `work` is the token usage of the completions that succeeded before. */
export class SummaryFailed extends Error {
  readonly work: SummaryWork | undefined
  constructor(cause: unknown, work: SummaryWork | undefined) {
    super(messageOf(reasonOf(cause)), { cause })
    this.name = 'SummaryFailed'
    this.work = work
  }
}

const reasonOf = (cause: unknown): unknown => (cause instanceof CompletionFailed ? cause.cause : cause)

const messageOf = (reason: unknown): string => (reason instanceof Error ? reason.message : String(reason))

/** The model refused a request, perhaps for its size. `refusal` has the estimated size. */
class TooLarge extends Error {
  readonly refusal: SizeRefusal
  /** Whether the provider names the size as the reason. */
  readonly isForSize: boolean
  /** Whether the provider says that there are too many tokens. A status 413 alone may refer to the bytes. */
  readonly isCertain: boolean
  constructor(error: ModelError, estimate: number) {
    super(error.message, { cause: error })
    this.name = 'TooLarge'
    this.refusal = { estimate, ...error.size }
    this.isForSize = error.code === 'context_length'
    this.isCertain = this.isForSize && !isTooLarge(error)
  }
}

interface Dependencies {
  readonly reader: MessageReader
  readonly models: Models
  readonly clock: Clock
  readonly keeper: Pick<LeaseKeeper, 'startWatchdog' | 'check'>
  /** Counts the usage of a request that was cut off. */
  count(usage: Usage, model: string): Promise<void>
  /**
   * Records model limits that a refusal has shown, before the next request. Without this function, the limits are
   * recorded with the summary.
   */
  learn?(limits: Limits): Promise<void>
}
type Limits = NonNullable<SessionContext['limits']>

interface Work {
  readonly agent: Agent
  readonly policy: Consolidation
  /** The summary made before this one. */
  readonly former: Summary | undefined
  /** The first message that is not summarised: the new input. Undefined: all messages may be summarised. */
  readonly before: string | undefined
  /** Limits of models that refusals have shown. */
  readonly limits?: Limits | undefined
  readonly signal: AbortSignal
}

/** The new summary, and the counts of the messages after it. */
export interface Summarised {
  readonly summary: Summary
  /** Number of conversational messages that are new in this summary. */
  readonly messages: number
  readonly after: Consolidated['after']
  /** Limits of models, including limits that refusals of the summary have shown. */
  readonly limits?: Limits
}

/**
 * Summarises the conversation up to the newest messages, which stay as they are. Stores nothing. Returns undefined when
 * there is nothing to summarise. If the signal aborts during a model request, rejects with `SummaryFailed`; before the
 * first request, rejects with the signal's reason.
 */
export async function summarise(
  dependencies: Dependencies,
  key: SessionKey,
  work: Work,
): Promise<Summarised | undefined> {
  const { agent, policy } = work
  const name = policy.model ?? agent.model
  const options = name === agent.model ? agent.modelOptions : {}
  const taken: Taken = { usage: undefined, model: name }
  try {
    return await summariseWithin(dependencies, key, work, { name, options, use: keyOf(key) }, taken)
  } catch (error) {
    if (error instanceof SummaryFailed || taken.usage === undefined) throw error
    throw new SummaryFailed(work.signal.aborted ? work.signal.reason : error, workOf(taken, dependencies.clock))
  }
}

interface Target {
  readonly name: string
  readonly options: Agent['modelOptions']
  readonly use: SessionKey
}

/** Summarises the messages, with less material after each refusal for its size. */
async function summariseWithin(
  dependencies: Dependencies,
  key: SessionKey,
  work: Work,
  target: Target,
  taken: Taken,
): Promise<Summarised | undefined> {
  const { name } = target
  let limits = work.limits
  let budget = Math.floor(requestTokensOf({ ...work.agent, model: name }, limits) * MATERIAL)
  for (let reductions = 0; ; reductions++) {
    const found = await collect(dependencies.reader, key, work, budget)
    if (found === undefined) return undefined
    try {
      const made = await askInParts(dependencies, work, found.parts, target, taken)
      const summary: Summary = {
        ...made,
        through: found.through,
        messages: (work.former?.messages ?? 0) + found.messages,
        createdAt: dependencies.clock.now(),
      }
      return { summary, messages: found.messages, after: found.after, ...definedFields({ limits }) }
    } catch (error) {
      if (!(error instanceof SummaryFailed) || !(error.cause instanceof TooLarge)) throw error
      const { refusal, isForSize, isCertain } = error.cause
      if (isCertain) {
        const learned = limitsAfter(limits, name, refusal)
        if (learned !== undefined && learned !== limits) await dependencies.learn?.(learned)
        limits = learned
      }
      // A refusal whose reason may not be the size is retried only once.
      if (reductions >= (isForSize ? MAX_REDUCTIONS : 1)) throw error
      budget = Math.max(
        1,
        Math.floor(Math.min(Math.min(budget, refusal.estimate) * LESS, targetAfter(refusal) * MATERIAL)),
      )
    }
  }
}

/** The messages that a summary replaces, in parts of at most `budget` tokens; undefined if every message stays. */
async function collect(
  reader: MessageReader,
  key: SessionKey,
  { policy, former, before, signal }: Work,
  budget: number,
): Promise<Consolidated | undefined> {
  const collector = createCollector(policy, budget)
  for await (const message of readBack(reader, key, { before, after: former?.through })) {
    signal.throwIfAborted()
    collector.add(message)
  }
  return collector.collected()
}

/** Token usage of the completions for one summary so far. */
interface Taken {
  usage: Usage | undefined
  model: string
}

const workOf = ({ usage, model }: Taken, clock: Clock): SummaryWork | undefined =>
  usage && { usage, model, createdAt: clock.now() }

/** Folds each part into the summary of the parts before it. */
async function askInParts(
  { models, clock, keeper, count }: Dependencies,
  { policy, former, signal }: Work,
  parts: readonly string[],
  { name, options, use }: Target,
  taken: Taken,
): Promise<Pick<Summary, 'text' | 'usage' | 'model'>> {
  let text = former?.text
  try {
    const done = keeper.startWatchdog(OPEN_MS)
    const opening = withinTime(OPEN_MS, `opening model ${name}`, () => models.open(name, use))
    const model = await raceAbort(opening, signal).finally(done)
    for (const part of parts) {
      const request = {
        instructions: policy.instructions ?? SUMMARY_PROMPT,
        messages: [{ role: 'user', parts: [{ type: 'text', text: summaryRequestText(part, text) }] }],
        tools: [],
        toolChoice: 'none',
        options,
      } as const
      const target = { model, clock, keeper, at: { runId: '', round: 0 }, emit: () => undefined }
      const counting = { ...target, count: (unstored: Usage) => count(unstored, model.name) }
      const tokens = weighDeclarations(request.instructions, []) + weighMessages(request.messages)
      const completion = await requestCompletion(counting, { request, tokens }, signal).catch((error: unknown) => {
        throw tooLarge(error, tokens) ?? error
      })
      taken.usage = addUsage(taken.usage ?? NO_USAGE, completion.usage)
      taken.model = completion.model
      text = textOf(completion.parts).trim()
      if (text === '') throw new Error('the model gave an empty summary')
    }
  } catch (error) {
    throw new SummaryFailed(signal.aborted ? signal.reason : error, workOf(taken, clock))
  }
  return { text: text ?? '', model: taken.model, usage: taken.usage ?? NO_USAGE }
}

/**
 * Returns a `TooLarge` if the failure is a refusal, because a request with less material may succeed. Otherwise undefined. The
 * request contains only text, so its size may be the reason of any refusal.
 */
function tooLarge(failed: unknown, tokens: number): TooLarge | undefined {
  const error = reasonOf(failed)
  return error instanceof ModelError && isRefusal(error) ? new TooLarge(error, tokens) : undefined
}

interface SummarisedAt {
  /** The id of the log's last message. */
  readonly head: string
  /** The first message that was not summarised; undefined if there is none. */
  readonly before: string | undefined
  readonly run: string
  readonly replay: Agent['policies']['replay']
}

/**
 * Returns the session's context decisions with the new summary. A truncation that begins after the summary stays in
 * effect; an earlier one is dropped, because the summary covers its messages. The measured rate of the provider's
 * tokens is kept.
 */
export function afterSummary(
  { messages, decided, isWhole }: LoadedContext,
  { summary, after, limits = decided.limits }: Summarised,
  { head, before, run, replay }: SummarisedAt,
): SessionContext & Pick<Summarised, 'summary'> {
  const { rate } = scaleOf({ messages, context: decided, currentRun: run, replay, declarations: 0, isWhole })
  const begun = {
    ...definedFields({ citations: decided.citations, media: decided.media, repairs: decided.repairs, limits }),
    summary,
    decided: { at: head, scale: { weight: 0, tokens: 0, rate } },
  }
  const { cut } = decided
  if (cut === undefined || cut.from <= summary.through) return begun
  const left = messages.filter(({ id }) => id >= cut.from && (before === undefined || id < before))
  const conversational = after.conversational - left.filter(isConversational).length
  return { ...begun, cut: { ...cut, messages: after.messages - left.filter(isLeaders).length, conversational } }
}
