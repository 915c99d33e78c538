import type { RepairStep, SessionContext } from '../../domain/context.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { isLeaders } from '../../domain/messages/message.ts'
import type { ToolMessage } from '../../domain/messages/message.ts'
import { callCompleted, noticeEvents } from '../../log/run-events.ts'
import type { RunState } from './run-state.ts'
import type { NewDecision } from './writer/run-writer.ts'
import { takeNoteOfSummary, threadsOf } from './thread.ts'
import type { Thread } from './thread.ts'

interface About {
  /** The thread for whose requests the decision was made; the leader by default. */
  readonly thread?: Thread
  /** The rows of the calls that a notice `calls.resolved` names. */
  readonly resolved?: readonly ToolMessage[]
  /** Repair steps to remove from the session, because they did not help a member. */
  readonly undone?: readonly RepairStep[]
}

/** A decision of a policy. `context`: the new context for the thread's requests. */
type DecisionOfThread = Omit<NewDecision, 'context'> & { readonly context?: SessionContext }

/** Records decisions of policies one after the other, and emits the events of their notices. */
export async function recordDecision(
  state: RunState,
  { context: decided, ...decision }: DecisionOfThread,
  { thread = state.leader, resolved = [], undone = [] }: About = {},
): Promise<void> {
  const { context } = state
  const merged = decided && { context: () => withDecision(state, { thread, undone }, decided) }
  await state.writer.recordDecision({ ...decision, ...merged }, (stored) => {
    if (stored.work?.agent === undefined) takeNoteOfSummary(state.leader, stored.work?.usage)
    if (stored.context !== undefined) takeAsDecided(state, stored.context)
    const before = context.notices.length
    context.notices.push(...stored.notices)
    const events = noticeEvents(state.held.run, context.notices).slice(before)
    return [...events.filter((event) => event !== undefined), ...resolved.map(callCompleted)]
  })
}

function takeAsDecided({ context }: RunState, decided: SessionContext): void {
  const { cut, summary } = context.decided
  // A new summary or truncation omits older messages, and all remaining messages are loaded.
  context.isWhole ||= decided.cut !== cut || decided.summary !== summary
  context.decided = decided
}

/** Merges a thread's decision into the session's context. Removes the decisions of members that have ended. */
function withDecision(
  state: RunState,
  { thread, undone }: Required<Pick<About, 'thread' | 'undone'>>,
  of: SessionContext,
): SessionContext {
  const { cut, trial, decided, repairs, members: _members, ...rest } = of
  if (isLeaders(thread)) {
    const limits = lowerLimits(state.context.decided.limits, of.limits)
    return { ...rest, ...definedFields({ cut, trial, decided, repairs, limits }) }
  }
  const open = [...threadsOf(state.leader)].flatMap(({ parentMessageId: id = '' }) => {
    const known =
      id === thread.parentMessageId
        ? definedFields({ cut, trial, decided, repairs })
        : state.context.decided.members?.[id]
    return known === undefined ? [] : [[id, known] as const]
  })
  const limits = lowerLimits(state.context.decided.limits, of.limits)
  const shared = withMembersSteps(state.context.decided.repairs, repairs, undone)
  const fields = definedFields({ limits, repairs: shared })
  return { ...state.context.decided, ...fields, members: Object.fromEntries(open) }
}

/** Merges learned limits. Concurrent threads may each have learned a limit of the same model; the lower one is kept. */
function lowerLimits(known: SessionContext['limits'], learned: SessionContext['limits']): SessionContext['limits'] {
  if (known === undefined || learned === undefined) return known ?? learned
  const models = Object.keys({ ...known, ...learned })
  return Object.fromEntries(models.map((name) => [name, Math.min(known[name] ?? Infinity, learned[name] ?? Infinity)]))
}

type RepairsByModel = SessionContext['repairs']

/**
 * Adds a member's repair steps, and the number of its repaired requests, to the repairs of the session. A repair step
 * applies to every request to the same model. Removes steps that are undone.
 */
function withMembersSteps(
  known: RepairsByModel,
  members: RepairsByModel,
  undone: readonly RepairStep[],
): RepairsByModel {
  if (members === undefined) return known
  const merged = Object.entries(members).map(([model, { steps, sent }]) => {
    const before = known?.[model] ?? { steps: [], omitted: [] }
    const all = new Set([...before.steps, ...steps])
    const isLater = sent !== undefined && (sent.run !== before.sent?.run || sent.count > before.sent.count)
    const kept = [...all].filter((step) => !undone.includes(step))
    return [model, { ...before, steps: kept, ...(isLater ? { sent } : {}) }] as const
  })
  return { ...known, ...Object.fromEntries(merged) }
}
