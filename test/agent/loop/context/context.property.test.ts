/* Evidence, replay: For generated logs and policies, each request is valid, fits its budget, and is a prefix of the next
 * request. */
import { describe, expect, it } from 'vitest'
import { sizeRequest } from '../../../../functions/agent/loop/context/context.ts'
import type { Requested, SizedRequest } from '../../../../functions/agent/loop/context/context.ts'
import { DEFAULT_POLICIES } from '../../../../functions/domain/agent.ts'
import type { Agent, Policies } from '../../../../functions/domain/agent.ts'
import type { SessionContext } from '../../../../functions/domain/context.ts'
import { isLeaders, textOf } from '../../../../functions/domain/messages/message.ts'
import type { Message } from '../../../../functions/domain/messages/message.ts'
import { NO_USAGE } from '../../../../functions/domain/usage/usage.ts'
import { citationsAfter } from '../../../../functions/log/citations.ts'
import { createCollector, isDue } from '../../../../functions/log/request/consolidation.ts'
import { requestTokensOf } from '../../../../functions/log/request/context-sizes.ts'
import { isConversational } from '../../../../functions/log/request/request-context.ts'
import { highestOf, numberSources, recordedNumbers } from '../../../../functions/log/sources.ts'
import { decoratedLog } from '../../../generators/decorated-logs.ts'
import { requestFaults } from '../../../generators/request-faults.ts'
import { requestPoints } from '../../../generators/request-points.ts'
import type { Point } from '../../../generators/request-points.ts'
import { fc } from '../../../generators/seeded.ts'

const RUNS = { numRuns: 300, endOnFailure: true }
const policies: fc.Arbitrary<Policies> = fc.record({
  ...Object.fromEntries(Object.entries(DEFAULT_POLICIES).map(([name, value]) => [name, fc.constant(value)])),
  replay: fc.constantFrom('full', 'conversation'),
  contextTokens: fc.constantFrom(80, 200, 500, 100_000),
  consolidation: fc.constantFrom(false, { threshold: 2, keepRecentRatio: 0.5 }, { threshold: 3, keepRecentRatio: 0 }),
  images: fc.constantFrom('note', { reattach: 1 }, { reattach: 2 }),
  sources: fc.constantFrom('keep', 'cited'),
}) as unknown as fc.Arbitrary<Policies>

const agentWith = (own: Policies): Agent => ({
  ...{ name: 'default', model: 'script/ed', modelOptions: {}, instructions: 'Be brief.', tools: [], policies: own },
})

/** Returns the inputs of a request, with the source numbers that it assigns. */
function requested({ log, currentRun }: Point, agent: Agent, decided: SessionContext): Requested {
  const messages = log.filter(isLeaders)
  const recorded = messages.flatMap((one) => (one.role === 'assistant' ? (one.numbered ?? []) : []))
  const given = numberSources(messages, recordedNumbers(messages), highestOf(recorded))
  return {
    session: {},
    thread: { runId: currentRun, agent, messages },
    context: { messages, decided, isWhole: true },
    numbers: new Map(given.map(({ message, from }) => [message, from])),
    tools: [],
    toolChoice: 'auto',
    head: messages.at(-1)?.id ?? '',
    isAnnounced: false,
    older: async () => ({ messages: 0, conversational: 0 }),
  }
}

/** Makes the decision at the end of a run about the sources of its turn. Returns the session's new decisions. */
function atEnd(log: readonly Message[], agent: Agent, decided: SessionContext): SessionContext {
  const last = log.findLast(isLeaders)
  if (agent.policies.sources === 'keep' || last?.role !== 'assistant' || !isConversational(last)) return decided
  const numbered = log.flatMap((one) =>
    one.role === 'assistant' && one.runId === last.runId ? (one.numbered ?? []) : [],
  )
  const numbers = numbered.flatMap(({ from, count }) => Array.from({ length: count }, (_, place) => from + place))
  const all = log.flatMap((one) => (one.role === 'assistant' ? (one.numbered ?? []) : []))
  const citations = citationsAfter(textOf(last.parts), numbers, highestOf(all), decided.citations)
  return citations === undefined ? decided : { ...decided, citations }
}

/** Makes the decision at the beginning of a run about its conversation. Returns the session's new decisions. */
function atBegin({ log, currentRun }: Point, agent: Agent, decided: SessionContext): SessionContext {
  const { consolidation } = agent.policies
  const before = log.filter((one) => one.runId !== currentRun && one.id > (decided.summary?.through ?? ''))
  if (consolidation === false || log.at(-1)?.role !== 'user') return decided
  if (!isDue(consolidation, before.filter(isConversational).length)) return decided
  const collector = createCollector(consolidation, 100_000)
  for (const message of before.toReversed()) collector.add(message)
  const found = collector.collected()
  if (found === undefined) return decided
  const { through, messages } = found
  const made = { text: `summary of ${messages}`, through, messages, createdAt: 0, usage: NO_USAGE, model: 'm' }
  const { cut, ...others } = decided
  return { ...others, summary: made, ...(cut !== undefined && cut.from > through ? { cut } : {}) }
}

interface Step {
  readonly point: Point
  readonly of: Requested
  readonly sized: SizedRequest
  /**
   * Whether this request must extend the previous one. It need not do so after a decision. It also need not do so after
   * the end of a run, if the policies omit data of ended runs.
   */
  readonly extendsLast: boolean
}

const hasMedia = (log: readonly Message[]): boolean =>
  log.some(({ parts }: { readonly parts: readonly { readonly type: string }[] }) =>
    parts.some(({ type }) => type === 'image'),
  )

/** Returns every request of a log, with the decisions before it. */
async function walk(log: readonly Message[], agent: Agent): Promise<Step[]> {
  const steps: Step[] = []
  let decided: SessionContext = {}
  for (const point of requestPoints(log)) {
    const before = steps.at(-1)
    const isNew = before !== undefined && before.point.currentRun !== point.currentRun
    const known = decided
    if (isNew) {
      const end = point.log.filter(({ runId }) => runId !== point.currentRun)
      decided = atBegin(point, agent, atEnd(end, agent, decided))
    } else if (before === undefined) decided = atBegin(point, agent, decided)
    const of = requested(point, agent, decided)
    const sized = await sizeRequest(of)
    // Images above the limit of the policy are omitted after their turn.
    const changes = isNew && (agent.policies.replay === 'conversation' || hasMedia(point.log))
    const extendsLast = before !== undefined && decided === known && sized.decision === undefined && !changes
    steps.push({ point, of, sized, extendsLast })
    decided = sized.decision ?? decided
  }
  return steps
}

describe('requests for any log under any policy', () => {
  it('are valid, and each extends the previous request until a decision changes the context (promises R1, R5)', async () => {
    let extended = 0
    await fc.assert(
      fc.asyncProperty(decoratedLog, policies, async (log, own) => {
        const steps = await walk(log, agentWith(own))
        for (const [index, { sized, extendsLast }] of steps.entries()) {
          const { messages } = sized.request
          expect(requestFaults(messages)).toEqual([])
          if (!extendsLast) continue
          extended++
          const former = steps[index - 1]?.sized.request.messages ?? []
          expect(JSON.stringify(messages.slice(0, former.length))).toBe(JSON.stringify(former))
        }
      }),
      RUNS,
    )
    expect(extended).toBeGreaterThan(RUNS.numRuns)
  })

  it('fit the context, unless only inputs and one round remain; a repetition needs no further decision (promises R9)', async () => {
    let cuts = 0
    await fc.assert(
      fc.asyncProperty(decoratedLog, policies, async (log, own) => {
        const agent = agentWith(own)
        for (const { point, sized } of await walk(log, agent)) {
          const rounds = sized.request.messages.filter(({ role }) => role === 'assistant').length
          if (rounds > 1) expect(sized.tokens).toBeLessThanOrEqual(requestTokensOf(agent))
          if (sized.decision === undefined) continue
          if (sized.decision.cut !== undefined) cuts++
          // The next decision may reduce a nearly full context further.
          if (sized.tokens > requestTokensOf(agent) * 0.95) continue
          const again = await sizeRequest(requested(point, agent, sized.decision))
          expect(again.request).toEqual(sized.request)
          expect(again.decision).toBeUndefined()
        }
      }),
      RUNS,
    )
    expect(cuts).toBeGreaterThan(RUNS.numRuns / 10)
  })

  it('depend only on the log and the decisions, and change neither', async () => {
    await fc.assert(
      fc.asyncProperty(decoratedLog, policies, async (log, own) => {
        for (const { of, sized } of await walk(log, agentWith(own))) {
          const { older, ...data } = of
          const copy = { ...structuredClone(data), older }
          expect(await sizeRequest(copy)).toEqual(sized)
          expect(copy).toEqual(of)
        }
      }),
      RUNS,
    )
  })
})
