import type { ToolMessage } from '../../domain/messages/message.ts'
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
  const placed = new Set(state.context.notices.flatMap((notice) => ('calls' in notice ? notice.calls : [])))
  const isNew = (call: ToolMessage): boolean => isResolved(call) && !placed.has(call.id)
  const threads = [...threadsOf(state.leader)]
  const read = threads.flatMap(ownMessages).some((message) => message.role === 'tool' && isNew(message))
  if (read) await readRequest(state)
  const resolved = threads
    .flatMap(positionedCalls)
    .filter(isNew)
    .toSorted((left, right) => (left.id < right.id ? -1 : 1))
  if (resolved.length === 0) return
  await recordDecision(state, { notices: [callsResolved(resolved)] }, { resolved })
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
