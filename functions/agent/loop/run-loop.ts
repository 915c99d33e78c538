import { runPaused } from '../../log/run-events.ts'
import type { Completion } from '../../ports/model.ts'
import type { RunEnd } from '../../ports/run-log.ts'
import { CompletionFailed } from './completion-request.ts'
import { nextCompletion } from './completion.ts'
import { endedBy, isCutShort, lastRoundReason } from './refusal.ts'
import type { LastRound } from './refusal.ts'
import { endRun, stopAfter } from './run-ending.ts'
import type { LoopEnding } from './run-ending.ts'
import { allocate, assistantMessage } from './run-state.ts'
import type { RunState } from './run-state.ts'
import { storeRound, withUniqueCallIds } from './store-round.ts'
import { openCalls, remember } from './thread.ts'
import type { Thread } from './thread.ts'
import { executeOpenCalls } from './tool-batch.ts'

/** What asks for a run to be handed over: after the round that it is in, or, with a `CutOff`, out of a completion's middle. */
export interface HandOver {
  readonly afterRound: AbortSignal
  readonly atOnce: AbortSignal
}

/**
 * Executes a run from wherever its log stands until it ends, pauses or is handed over; the lease is given back by the write
 * that does so. The order of durability is promises L4.
 */
export async function executeRun(state: RunState, handOver: HandOver): Promise<LoopEnding> {
  try {
    return await advance(state, state.leader, handOver)
  } catch (error) {
    return stopAfter(state, error)
  }
}

async function advance(state: RunState, thread: Thread, handOver: HandOver): Promise<LoopEnding> {
  // Taken up for the next completion alone: it may have all the time that a process has.
  let isWhole = state.held.origin === 'resumed'
  const signal = AbortSignal.any([state.signal, handOver.atOnce])
  for (;;) {
    if (await executeOpenCalls(state, thread)) isWhole = false
    if (openCalls(thread).length > 0) {
      if (await pauseRun(state, thread)) return 'paused'
      continue
    }
    const over = endedBy(thread)
    if (over !== undefined) {
      await state.writer.settled()
      return finish(state, { outcome: 'completed', stopReason: over })
    }
    if (handOver.afterRound.aborted) return release(state)
    await steerRun(state, thread)
    const last = lastRoundReason(thread)
    const completion = await nextCompletion(state, thread, { isLast: last !== undefined, signal, isWhole })
    if (completion === undefined) return release(state)
    isWhole = false
    await state.writer.settled()
    if (state.signal.aborted) throw new CompletionFailed(state.signal.reason, completion.parts)
    if (await storeCompletion(state, thread, completion, last)) return 'ended'
  }
}

/** Gives the lease back with the run still active, for somebody else to go on. */
async function release(state: RunState): Promise<LoopEnding> {
  await state.writer.settled()
  await state.store.lease.release(state.held.lease)
  return 'handed_over'
}

/** Makes queued steering inputs user messages of the running run, between two rounds and in their order. */
async function steerRun(state: RunState, thread: Thread): Promise<void> {
  const { log, reader } = state.store
  const { lease } = state.held
  if ((await state.store.look()).queued === 0) return
  await state.writer.settled()
  for (const queued of await reader.queued(lease)) {
    if (queued.onBusy !== 'steer') continue
    const [id] = allocate(state, 1)
    const message = id === undefined ? undefined : await log.steer(lease, queued.id, id)
    if (message !== undefined) remember(thread, [message])
  }
}

/** Stores a completion; one without calls ends the run. Returns whether it ended. */
async function storeCompletion(
  state: RunState,
  thread: Thread,
  completion: Completion,
  last: LastRound | undefined,
): Promise<boolean> {
  const { parts, toolCalls } = withUniqueCallIds(completion, state.ports.clock.now())
  const { model, finishReason, usage } = completion
  const message = assistantMessage(state, thread, { parts, toolCalls, model, finishReason, usage })
  if (toolCalls.length > 0) {
    await storeRound(state, thread, message)
    return false
  }
  const stopReason = last ?? (isCutShort(message) ? 'output_limit' : 'answer')
  await finish(state, { outcome: 'completed', stopReason, message })
  return true
}

/** Gives the lease back until nothing waits any longer. Returns false when there is something to do first: go on. */
async function pauseRun(state: RunState, thread: Thread): Promise<boolean> {
  const { log, reader } = state.store
  const { lease } = state.held
  await state.writer.settled()
  // Some may have been resolved since their round was stored.
  const rows = await Promise.all(openCalls(thread).map((row) => reader.message(lease, row.id)))
  remember(
    thread,
    rows.filter((row) => row !== undefined),
  )
  const waiting = openCalls(thread)
  if (waiting.length === 0 || waiting.some((row) => row.status !== 'waiting')) return false
  const run = await log.pause(lease)
  if (run === undefined) {
    await state.store.look()
    return false
  }
  state.emit(runPaused(run, waiting))
  return true
}

async function finish(state: RunState, end: RunEnd): Promise<LoopEnding> {
  await endRun(state, end)
  return 'ended'
}
