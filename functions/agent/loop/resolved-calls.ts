import type { ToolMessage } from '../../domain/messages/message.ts'
import type { RunNotice } from '../../domain/runs/run.ts'
import { isResolved } from '../../log/stored-events.ts'
import { callsResolved } from './notices.ts'
import { recordDecision } from './record-decision.ts'
import { refusedRound } from './run-state.ts'
import type { RunState } from './run-state.ts'
import { ownMessages, threadsOf } from './thread.ts'
import type { Thread } from './thread.ts'

/**
 * Emits the ends of calls that clients resolved during the run, once the holder has read their rows. Records the position of
 * these events. Skips calls that a pause waited for: they have a position, and the holder read the run after their results. If
 * there are other calls, first reads the tools, instructions and settings of the requests that brought their results.
 */
export async function emitResolvedCalls(state: RunState): Promise<void> {
  const isNew = isUnplaced(state.context.notices)
  const messages = [...threadsOf(state.leader)].flatMap(ownMessages)
  const read = messages.some((message) => message.role === 'tool' && isNew(message))
  if (read) await readRequest(state)
  const resolved = resolvedCalls(state.leader, state.context.notices)
  if (resolved.length === 0) return
  await recordDecision(state, { notices: [callsResolved(resolved)] }, { resolved })
}

/**
 * Returns the calls that clients have resolved, in log order. Omits the calls whose end event a holder has emitted.
 * `notices`: the run's notices.
 */
export const resolvedCalls = (leader: Thread, notices: readonly RunNotice[]): ToolMessage[] =>
  [...threadsOf(leader)]
    .flatMap(positionedCalls)
    .filter(isUnplaced(notices))
    .toSorted((left, right) => (left.id < right.id ? -1 : 1))

/** Returns whether a call is resolved and no notice names it. */
function isUnplaced(notices: readonly RunNotice[]): (call: ToolMessage) => boolean {
  const placed = new Set(notices.flatMap((notice) => ('calls' in notice ? notice.calls : [])))
  return (call) => isResolved(call) && !placed.has(call.id)
}

/** Reads the tools, instructions and settings of the run. They were stored together with the results. */
async function readRequest(state: RunState): Promise<void> {
  const { reads, writer, held } = state
  state.request = (await reads.reader.run(writer.key, held.run.id)) ?? state.request
  state.leader.refusedRound = refusedRound(state.request)
}

/** The thread's calls from rounds that have a position. Rounds of older versions have none. */
function positionedCalls(thread: Thread): ToolMessage[] {
  const own = ownMessages(thread)
  const rounds = new Set(own.flatMap(({ id, role, position }) => (role === 'assistant' && position ? [id] : [])))
  return own.filter((message) => message.role === 'tool').filter((call) => rounds.has(call.assistantMessageId))
}
