import type { Consolidation } from '../../../domain/agent.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { SessionContext } from '../../../domain/context.ts'
import { isDue, isNearlyFull } from '../../../log/request/consolidation.ts'
import { CutOff } from '../model/complete.ts'
import { countConversation } from './context.ts'
import { consolidated, nearlyFull, warning } from '../notices.ts'
import { recordDecision } from '../record-decision.ts'
import type { RunState } from '../run-state.ts'
import type { NewNotice } from '../writer/run-writer.ts'
import { countSummaries } from '../model/unstored-usage.ts'

/**
 * Runs before the first request of a run that has an input. Warns when the conversation is nearly too long, and
 * summarises its older part when it is too long.
 *
 * The summary takes effect when it is stored, in one write with its token usage. If the summary fails, the context stays
 * unchanged, and the turn continues without a retry. The usage of completed parts is counted, and followers get a
 * warning. Returns the notices that followers have not received yet; they are recorded with the decision of the first
 * request. Returns undefined when the summary was cut off: another process starts it again.
 */
export async function consolidateIfDue(
  state: RunState,
  signal: AbortSignal,
): Promise<readonly NewNotice[] | undefined> {
  const { leader, held, context, reads, writer } = state
  const { consolidation } = leader.agent.policies
  if (consolidation === false) return []
  const loaded = { messages: leader.messages, decided: context.decided, isWhole: context.isWhole }
  const count = await countConversation(reads.reader, writer.key, loaded, held.run.id)
  // If a holder crashed before emitting the warning, its successor emits it.
  const hasWarned = context.notices.some(({ type }) => type === 'context.nearly_full')
  const warnings = isNearlyFull(consolidation, count) && !hasWarned ? [nearlyFull(count, consolidation.threshold)] : []
  const hasFailed = context.notices.some((notice) => notice.type === 'warning' && notice.code === 'summary_failed')
  if (!isDue(consolidation, count) || hasFailed) return warnings
  // A summary takes long. So the completion after the summary cannot use the whole lifetime of this process.
  leader.isWhole = false
  if (warnings.length > 0) await recordDecision(state, { notices: warnings })
  try {
    await consolidate(state, consolidation, signal)
  } catch (failed) {
    const error: unknown = signal.aborted ? signal.reason : failed
    const { SummaryFailed } = await import('./summarise.ts')
    const isCutOff = error instanceof CutOff
    // The tokens of the completed parts were spent, even if later parts failed.
    const work = failed instanceof SummaryFailed ? failed.work : undefined
    const isOver = isCutOff ? error.why === 'out_of_time' && held.origin === 'resumed' : error instanceof SummaryFailed
    const detail = `the older messages could not be summarised and stay unchanged: ${error instanceof Error ? error.message : ''}`
    const notice = warning(leader, 'summary_failed', detail)
    if (isOver || work !== undefined)
      await recordOrCount(state, { notices: isOver ? [notice] : [], ...definedFields({ work }) })
    if (isCutOff) return undefined
    if (!isOver) throw error
  }
  return []
}

async function consolidate(state: RunState, policy: Consolidation, signal: AbortSignal): Promise<void> {
  const { leader, held, context, reads, ports, writer } = state
  const before = inputOf(state)
  const { limits } = context.decided
  const work = { agent: leader.agent, policy, former: context.decided.summary, before, limits, signal }
  const count = countSummaries(ports, writer.key, state.account)
  const learn = (learnt: NonNullable<SessionContext['limits']>): Promise<void> =>
    recordDecision(state, { context: { ...context.decided, limits: learnt }, notices: [] })
  const dependencies = { reader: reads.reader, models: ports.models, clock: ports.clock, keeper: writer, count, learn }
  // Imported on demand, because few runs need a summary.
  const { afterSummary, summarise } = await import('./summarise.ts')
  const made = await summarise(dependencies, writer.key, work)
  if (made === undefined) return
  const { through } = made.summary
  const loaded = { messages: leader.messages, decided: context.decided, isWhole: context.isWhole }
  const at = { head: writer.head(), before, run: held.run.id, replay: leader.agent.policies.replay }
  await recordOrCount(state, {
    context: afterSummary(loaded, made, at),
    notices: [consolidated(through, made.messages)],
    work: made.summary,
  })
}

/**
 * Records a decision with its token usage. If recording fails, for example because the lease was lost, counts the usage in the
 * ledger.
 */
async function recordOrCount(state: RunState, decision: Parameters<typeof recordDecision>[1]): Promise<void> {
  const account = state.account
  try {
    await recordDecision(state, { ...decision, account })
  } catch (error) {
    const { work } = decision
    if (work !== undefined) await countSummaries(state.ports, state.writer.key, account)(work.usage, work.model)
    throw error
  }
}

/** The id of the first message of the turn that has just begun. */
const inputOf = ({ leader, held }: RunState): string | undefined =>
  leader.messages.find(({ runId }) => runId === held.run.id)?.id
