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
import { requestTokensOf } from '../../../log/request/context-sizes.ts'
import { isConversational } from '../../../log/request/request-context.ts'
import { scaleOf } from '../../../log/request/request-size.ts'
import { weighDeclarations, weighMessages } from '../../../log/request/token-weight.ts'
import { SUMMARY_PROMPT } from '../../../log/request/summary-prompt.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { LogReader } from '../../../ports/log-reader.ts'
import type { Models } from '../../../ports/model.ts'
import { raceAbort, withinTime } from '../../../domain/time/time-limit.ts'
import { CompletionFailed, requestCompletion } from '../model/complete.ts'
import { readBack } from './context.ts'
import type { LoadedContext } from './context.ts'
import type { LeaseKeeper } from '../lease-keeper.ts'
import { OPEN_MS } from '../open-thread.ts'

/**
 * Share of a summary request that the messages to summarise may fill. The rest is for the prompt, the former summary
 * and the completion.
 */
const MATERIAL = 0.6

/** Summarising failed. `work` is the token usage of the completions that succeeded before. */
export class SummaryFailed extends Error {
  readonly work: SummaryWork | undefined
  constructor(cause: unknown, work: SummaryWork | undefined) {
    super(reasonOf(cause), { cause })
    this.name = 'SummaryFailed'
    this.work = work
  }
}

function reasonOf(cause: unknown): string {
  const reason = cause instanceof CompletionFailed ? cause.cause : cause
  return reason instanceof Error ? reason.message : String(reason)
}

interface Dependencies {
  readonly reader: LogReader
  readonly models: Models
  readonly clock: Clock
  readonly keeper: Pick<LeaseKeeper, 'startWatchdog' | 'check'>
  /** Counts the usage of a request that was cut off. */
  count(usage: Usage, model: string): Promise<void>
}

interface Work {
  readonly agent: Agent
  readonly policy: Consolidation
  /** The summary made before this one. */
  readonly former: Summary | undefined
  /** The first message that is not summarised: the new input. Undefined: all messages may be summarised. */
  readonly before: string | undefined
  readonly signal: AbortSignal
}

/** The new summary, and the counts of the messages after it. */
export interface Summarised {
  readonly summary: Summary
  /** Number of conversational messages that this summary added. */
  readonly messages: number
  readonly after: Consolidated['after']
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
  const { agent, policy, former, before } = work
  const model = policy.model ?? agent.model
  const options = model === agent.model ? agent.modelOptions : {}
  const collector = createCollector(policy, Math.floor(requestTokensOf({ ...agent, model }) * MATERIAL))
  const after = former?.through
  for await (const message of readBack(dependencies.reader, key, { before, after })) {
    work.signal.throwIfAborted()
    collector.add(message)
  }
  const found = collector.collected()
  if (found === undefined) return undefined
  const made = await askInParts(dependencies, work, found.parts, { name: model, options, use: keyOf(key) })
  const summary: Summary = {
    ...made,
    through: found.through,
    messages: (former?.messages ?? 0) + found.messages,
    createdAt: dependencies.clock.now(),
  }
  return { summary, messages: found.messages, after: found.after }
}

/** Folds each part into the summary of the parts before it. */
async function askInParts(
  { models, clock, keeper, count }: Dependencies,
  { policy, former, signal }: Work,
  parts: readonly string[],
  { name, options, use }: { readonly name: string; readonly options: Agent['modelOptions']; readonly use: SessionKey },
): Promise<Pick<Summary, 'text' | 'usage' | 'model'>> {
  let usage: Usage | undefined
  let made = { text: former?.text, model: name }
  try {
    const done = keeper.startWatchdog(OPEN_MS)
    const opening = withinTime(OPEN_MS, `opening model ${name}`, () => models.open(name, use))
    const model = await raceAbort(opening, signal).finally(done)
    for (const part of parts) {
      const text = summaryRequestText(part, made.text)
      const request = {
        instructions: policy.instructions ?? SUMMARY_PROMPT,
        messages: [{ role: 'user', parts: [{ type: 'text', text }] }],
        tools: [],
        toolChoice: 'none',
        options,
      } as const
      const target = { model, clock, keeper, at: { runId: '', round: 0 }, emit: () => undefined }
      const counting = { ...target, count: (taken: Usage) => count(taken, model.name) }
      const tokens = weighDeclarations(request.instructions, []) + weighMessages(request.messages)
      const completion = await requestCompletion(counting, { request, tokens }, signal)
      usage = addUsage(usage ?? NO_USAGE, completion.usage)
      const summary = textOf(completion.parts).trim()
      made = { ...made, model: completion.model }
      if (summary === '') throw new Error('the model gave an empty summary')
      made = { text: summary, model: completion.model }
    }
  } catch (error) {
    const work = usage && { usage, model: made.model, createdAt: clock.now() }
    throw new SummaryFailed(signal.aborted ? signal.reason : error, work)
  }
  return { text: made.text ?? '', model: made.model, usage: usage ?? NO_USAGE }
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
  { summary, after }: Summarised,
  { head, before, run, replay }: SummarisedAt,
): SessionContext & Pick<Summarised, 'summary'> {
  const { rate } = scaleOf({ messages, context: decided, currentRun: run, replay, declarations: 0, isWhole })
  const begun = {
    ...definedFields({ citations: decided.citations, media: decided.media }),
    summary,
    decided: { at: head, scale: { weight: 0, tokens: 0, rate } },
  }
  const { cut } = decided
  if (cut === undefined || cut.from <= summary.through) return begun
  const left = messages.filter(({ id }) => id >= cut.from && (before === undefined || id < before))
  const conversational = after.conversational - left.filter(isConversational).length
  return { ...begun, cut: { ...cut, messages: after.messages - left.filter(isLeaders).length, conversational } }
}
