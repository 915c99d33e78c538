import type { ToolMessage } from '../../domain/messages/message.ts'
import { isResolved } from '../../log/stored-events.ts'
import { recordDecision } from './record-decision.ts'
import type { RunState } from './run-state.ts'
import { ownMessages, threadsOf } from './thread.ts'
import type { Thread } from './thread.ts'

/**
 * Emits the ends of calls that clients resolved during the run, once the holder has read their rows. Records the
 * position of these events. Calls that a pause waited for already have a position.
 */
export async function emitResolvedCalls(state: RunState): Promise<void> {
  const placed = new Set(state.context.notices.flatMap((notice) => ('calls' in notice ? notice.calls : [])))
  const resolved = [...threadsOf(state.leader)]
    .flatMap(positionedCalls)
    .filter((call) => isResolved(call) && !placed.has(call.id))
    .toSorted((left, right) => (left.id < right.id ? -1 : 1))
  if (resolved.length === 0) return
  const notice = { type: 'calls.resolved', calls: resolved.map(({ id }) => id), after: state.head ?? '' } as const
  await recordDecision(state, { notices: [notice] }, { resolved })
}

/** The thread's calls from rounds that have a position. Older versions recorded none. */
function positionedCalls(thread: Thread): ToolMessage[] {
  const own = ownMessages(thread)
  const rounds = new Set(own.flatMap(({ id, role, position }) => (role === 'assistant' && position ? [id] : [])))
  return own.filter((message) => message.role === 'tool').filter((call) => rounds.has(call.assistantMessageId))
}
