import { LeaseLost } from '../../domain/errors.ts'
import { eventId } from '../../domain/events.ts'
import type { StopReason } from '../../domain/run.ts'
import type { Completion } from '../../ports/model.ts'
import { CompletionFailed } from './completion-request.ts'
import { declaredTools } from './build-request.ts'
import { withUniqueCallIds } from './call-ids.ts'
import { completeUnlessCut } from './hand-over.ts'
import type { HandOver } from './hand-over.ts'
import type { LoopDependencies } from './loop-dependencies.ts'
import { lastRoundReason, nextCompletion } from './next-completion.ts'
import { callsToExecute, endOfCrashLoop } from './resume-run.ts'
import { endAfter, endRun } from './run-ending.ts'
import { assistantMessage, openCalls, remember } from './run-state.ts'
import type { RunState } from './run-state.ts'
import { steerRun } from './steer-run.ts'
import { storeRound } from './store-round.ts'
import { executeBatch } from './tool-batch.ts'

/** How one holding of the lease ended. `lost`: somebody else goes on, or the lease's end will bring somebody. */
export type LoopEnding = 'ended' | 'paused' | 'handed_over' | 'lost'

/**
 * Executes a run from wherever its log stands until it ends, pauses or is handed over; the lease is given back by the write
 * that does so. The order of durability is promises L4.
 */
export async function executeRun(
  dependencies: LoopDependencies,
  state: RunState,
  handOver: HandOver,
): Promise<LoopEnding> {
  try {
    return await advance(dependencies, state, handOver)
  } catch (error) {
    return stopAfter(dependencies, state, error)
  }
}

async function advance(dependencies: LoopDependencies, state: RunState, handOver: HandOver): Promise<LoopEnding> {
  const tools = declaredTools(state.agent, state.held.run.clientTools, dependencies.tools)
  const crashLoop = endOfCrashLoop(state, dependencies.clock.now())
  if (crashLoop !== undefined) return finish(dependencies, state, crashLoop)
  // Taken up for the next answer alone: it may have all the time that a process has.
  let isWhole = state.held.origin === 'resumed'
  const cut = AbortSignal.any([state.signal, handOver.atOnce])
  for (;;) {
    if (await executeOpenCalls(dependencies, state)) isWhole = false
    if (openCalls(state).length > 0) {
      if (await pauseRun(dependencies, state)) return 'paused'
      continue
    }
    if (handOver.afterRound.aborted) return release(dependencies, state)
    await steerRun(dependencies, state, await state.keeper.poll())
    const last = lastRoundReason(state)
    const ask = (signal: AbortSignal): Promise<Completion> =>
      nextCompletion(dependencies, { ...state, signal }, tools, last !== undefined)
    const completion = await completeUnlessCut(state, ask, { signal: cut, isWhole })
    if (completion === undefined) return release(dependencies, state)
    isWhole = false
    await state.writer.settled()
    if (state.signal.aborted) throw new CompletionFailed(state.signal.reason, completion.parts)
    if (await storeCompletion(dependencies, state, completion, last)) return 'ended'
  }
}

/** Gives the lease back with the run still active, for somebody else to go on. */
async function release(dependencies: LoopDependencies, state: RunState): Promise<LoopEnding> {
  await state.writer.settled()
  await dependencies.lease.release(state.held.lease)
  return 'handed_over'
}

/** Stores an answer; one without calls, or that had to be the last, ends the run. Answers whether it ended. */
async function storeCompletion(
  dependencies: LoopDependencies,
  state: RunState,
  completion: Completion,
  last: Extract<StopReason, 'max_rounds' | 'budget'> | undefined,
): Promise<boolean> {
  const now = dependencies.clock.now()
  const { parts, toolCalls } = withUniqueCallIds(completion, now)
  const { model, finishReason, usage } = completion
  const message = assistantMessage(state, now, { parts, toolCalls, model, finishReason, usage })
  if (toolCalls.length === 0) {
    await finish(dependencies, state, { outcome: 'completed', stopReason: last ?? 'answer', message })
    return true
  }
  await storeRound(dependencies, state, message, last === undefined)
  if (last === undefined) return false
  await refuseCalls(dependencies, state, `this was the run's last round (${last}): no further calls`)
  await finish(dependencies, state, { outcome: 'completed', stopReason: last })
  return true
}

/** Executes what is open and can be executed; afterwards only waiting calls are open. Answers whether there was any. */
async function executeOpenCalls(dependencies: LoopDependencies, state: RunState): Promise<boolean> {
  const calls = await callsToExecute(dependencies, state)
  if (calls.length === 0) return false
  remember(state, await executeBatch(dependencies, { ...state, generation: state.held.lease.generation }, calls))
  return true
}

async function refuseCalls(dependencies: LoopDependencies, state: RunState, refusal: string): Promise<void> {
  const calls = (await callsToExecute(dependencies, state)).map((call) => ({ ...call, refusal }))
  remember(state, await executeBatch(dependencies, { ...state, generation: state.held.lease.generation }, calls))
  await state.writer.settled()
}

/** Gives the lease back until the waiting calls are answered. Answers false when there is something to do first: go on. */
async function pauseRun({ log, reader }: LoopDependencies, state: RunState): Promise<boolean> {
  const { lease } = state.held
  await state.writer.settled()
  // Some may have been answered since their round was stored.
  const rows = await Promise.all(openCalls(state).map((row) => reader.message(lease, row.id)))
  remember(
    state,
    rows.filter((row) => row !== undefined),
  )
  const waiting = openCalls(state)
  const [first] = waiting
  if (first === undefined || waiting.some((row) => row.status !== 'waiting')) return false
  const run = await log.pause(lease)
  if (run === undefined) {
    await state.keeper.poll()
    return false
  }
  const id = eventId(first.assistantMessageId, 'run.paused')
  state.emit({ type: 'run.paused', id, runId: run.id, run, waiting })
  return true
}

async function finish(
  dependencies: LoopDependencies,
  state: RunState,
  end: Parameters<typeof endRun>[2],
): Promise<LoopEnding> {
  await endRun(dependencies, state, end)
  return 'ended'
}

/** Ends the run after an error, when this process still may. Results that are being stored are awaited first. */
async function stopAfter(dependencies: LoopDependencies, state: RunState, error: unknown): Promise<LoopEnding> {
  if (isLeaseLost(error)) return 'lost'
  try {
    await state.writer.settled().catch((failed: unknown) => {
      if (isLeaseLost(failed)) throw failed
    })
    await endRun(dependencies, state, endAfter(error, state, dependencies.clock.now()))
    return 'ended'
  } catch (second) {
    if (isLeaseLost(second)) return 'lost'
    throw second
  }
}

const isLeaseLost = (error: unknown): boolean =>
  error instanceof LeaseLost || (error instanceof Error && error.cause instanceof LeaseLost)
