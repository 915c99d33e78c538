import type { CutTrial } from '../../../domain/context.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { isLeaders } from '../../../domain/messages/message.ts'
import { recordDecision } from '../record-decision.ts'
import type { RunState } from '../run-state.ts'
import { hasCompletedSince, remember } from '../thread.ts'
import type { Thread } from '../thread.ts'
import { decidedOf, loadContext } from './context.ts'
import type { Asked } from './context.ts'

/**
 * Begins the trial of a smaller request. The trial holds the state before the truncation (`cut`). The trial and the truncation
 * are recorded together, so that the next holder can undo both.
 */
export const beginTrial = (state: RunState, { thread }: Asked): CutTrial => {
  const { cut, decided } = decidedOf(state, thread)
  return { run: state.held.run.id, at: state.writer.head(), before: definedFields({ cut, decided }) }
}

/**
 * Returns the state of the recorded trial of a smaller request. `open`: the request has no completion yet. `failed`: the request
 * was refused in this run, and its truncation is undone. Undefined if there is no trial, or if the thread has had a completion
 * since the trial began.
 */
export function sizeTrialOf(state: RunState, thread: Thread): 'open' | 'failed' | undefined {
  const { trial } = decidedOf(state, thread)
  if (trial === undefined || hasCompletedSince(thread, trial.at)) return undefined
  if (trial.before !== undefined) return 'open'
  return trial.run === state.held.run.id ? 'failed' : undefined
}

/** Undoes the truncation of a smaller request. That request was refused as well, so the size was not the reason. */
export async function undoTrial(state: RunState, asked: Asked): Promise<void> {
  const { trial, cut, decided, ...rest } = decidedOf(state, asked.thread)
  const before = trial?.before ?? definedFields({ cut, decided })
  const failed = { run: state.held.run.id, at: state.writer.head() }
  await recordDecision(state, { context: { ...rest, ...before, trial: failed }, notices: [] }, asked)
  if (isLeaders(asked.thread)) await loadOmitted(state)
}

/** Loads the messages that the truncation had omitted. A holder that began after the truncation has not loaded them. */
async function loadOmitted({ reads, writer, leader, context }: RunState): Promise<void> {
  const { messages, isWhole } = await loadContext(reads.reader, writer.key, leader.runId, leader.agent)
  // Messages that are already loaded are not replaced: the log may lack results that are still being stored.
  const known = new Set(leader.messages.map(({ id }) => id))
  remember(
    leader,
    messages.filter((message) => isLeaders(message) && !known.has(message.id)),
  )
  context.isWhole = isWhole
}
