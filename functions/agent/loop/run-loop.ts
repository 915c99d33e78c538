import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Span } from '@opentelemetry/api'
import { definedFields } from '../../domain/defined-fields.ts'
import { isLeaders } from '../../domain/messages/message.ts'
import type { ToolMessage } from '../../domain/messages/message.ts'
import type { Run } from '../../domain/runs/run.ts'
import { lastChange, messageSteered, withWaiting } from '../../log/run-events.ts'
import type { Completion } from '../../ports/model.ts'
import type { RunEnd } from '../../domain/runs/run-changes.ts'
import { withUniqueCallIds } from './tools/call-ids.ts'
import { CompletionFailed, nextCompletion } from './model/complete.ts'
import { consolidateIfDue } from './context/consolidate.ts'
import { mediaAtEnd } from './context/context.ts'
import { openModel } from './open-thread.ts'
import { emitResolvedCalls } from './resolved-calls.ts'
import { endRun, stopAfter } from './run-ending.ts'
import type { LoopEnding } from './run-ending.ts'
import { allocate, assistantMessage, withLogMutex } from './run-state.ts'
import type { RunState } from './run-state.ts'
import { endedBy, isCutShort, lastRoundReason, openCalls, remember, roundsOf, threadsOf } from './thread.ts'
import type { LastRound, Thread, ThreadEnding } from './thread.ts'
import { executeOpenCalls, storeRound } from './tools/tool-batch.ts'
import type { Delegate } from './tools/tool-batch.ts'
import { countUnlessStored } from './model/unstored-usage.ts'

/** What asks for a run to be handed over: after the round that it is in, or, with a `CutOff`, out of a completion's middle. */
export interface HandOff {
  readonly afterRound: AbortSignal
  readonly atOnce: AbortSignal
}

/**
 * Executes a run from wherever its log stands until it ends, pauses or is handed over; the lease is given back by the write
 * that does so. The order of durability is promises L4.
 */
export function executeRun(state: RunState, handOff: HandOff): Promise<LoopEnding> {
  return inRunSpan(state, async () => {
    try {
      return await lead(state, handOff)
    } catch (error) {
      return await stopAfter(state, error)
    } finally {
      state.keeper.stop()
    }
  })
}

/** Lets the leader go on, and with it its members, until the run ends or nothing is left to do for this process. */
async function lead(state: RunState, handOff: HandOff): Promise<LoopEnding> {
  const signal = AbortSignal.any([state.signal, handOff.atOnce])
  for (;;) {
    const ending = await advance(state, state.leader, { ...handOff, signal })
    if (ending === 'ended') return 'ended'
    if (ending === 'handed_over') return release(state)
    if (await pauseRun(state)) return 'paused'
  }
}

/** `signal`: may cut a completion off. */
type Stops = Pick<HandOff, 'afterRound'> & { readonly signal: AbortSignal }

/** Lets a thread go on until it ends, waits or is to be handed over: the leader, and each member in the same way. */
async function advance(state: RunState, thread: Thread, stops: Stops): Promise<ThreadEnding> {
  const { afterRound, signal } = stops
  const delegate: Delegate = async (member) => {
    const { executeDelegation } = await import('./members/delegation.ts')
    return executeDelegation(state, member, () => advance(state, member, stops))
  }
  for (;;) {
    if (await executeOpenCalls(state, thread, delegate)) thread.isWhole = false
    if (openCalls(thread).length > 0) return isWaiting(thread) ? 'waiting' : 'handed_over'
    const over = endedBy(thread)
    if (over !== undefined) return endThread(state, thread, over)
    if (afterRound.aborted) return 'handed_over'
    const notices = isLeaders(thread) ? await consolidateIfDue(state, signal) : []
    if (notices === undefined) return 'handed_over'
    if (isLeaders(thread)) await steerRun(state, thread)
    await openModel(state, thread)
    const last = lastRoundReason(thread)
    const completion = await nextCompletion(state, thread, { isLast: last !== undefined, signal, notices })
    if (completion === undefined) return 'handed_over'
    thread.isWhole = false
    const rounds = roundsOf(thread)
    delete thread.storing
    try {
      await state.writer.settled()
      if (state.signal.aborted) throw new CompletionFailed(state.signal.reason, completion.parts)
      if (await storeCompletion(state, thread, completion, last)) return 'ended'
    } catch (error) {
      if (roundsOf(thread) === rounds) await countUnlessStored(state, thread, completion)
      throw error
    }
  }
}

/** Whether everything that is open in the thread and its members waits for somebody else. */
function isWaiting(thread: Thread): boolean {
  return openCalls(thread).every((row) => {
    const member = thread.members.get(row.id)
    return member === undefined ? row.status === 'waiting' : openCalls(member).length > 0 && isWaiting(member)
  })
}

/** Ends a thread whose last round's calls are closed. */
async function endThread(state: RunState, thread: Thread, stopReason: LastRound): Promise<ThreadEnding> {
  await state.writer.settled()
  if (isLeaders(thread)) await finish(state, { outcome: 'completed', stopReason })
  return 'ended'
}

/** Gives the lease back with the run still active, for somebody else to go on. */
async function release(state: RunState): Promise<LoopEnding> {
  await state.writer.settled()
  await state.store.lease.release(state.held.lease)
  return 'handed_over'
}

/** Inputs that become messages between two rounds; more wait for the next. */
const STEERED_AT_ONCE = 64

/** Makes queued steering inputs user messages of the running run, between two rounds and in their order. */
async function steerRun(state: RunState, thread: Thread): Promise<void> {
  const { log, reader } = state.store
  const { lease } = state.held
  if ((await state.store.readHeader()).queued === 0) return
  await state.writer.settled()
  for (const queuedRunId of await reader.steering(lease, STEERED_AT_ONCE)) {
    await withLogMutex(state, () =>
      state.emitInOrder(async (position) => {
        const [id = ''] = allocate(state, 1)
        const message = await log.steer(lease, queuedRunId, id, position)
        if (message === undefined) return { result: undefined, events: undefined }
        remember(thread, [message])
        return { result: undefined, events: [messageSteered(message)] }
      }),
    )
  }
}

/** Stores a completion; one without calls ends the thread, and the leader's the run. Returns whether it ended. */
async function storeCompletion(
  state: RunState,
  thread: Thread,
  completion: Completion,
  last: LastRound | undefined,
): Promise<boolean> {
  const { parts, toolCalls } = withUniqueCallIds(completion, state.ports.clock.now())
  const { model, finishReason, usage } = completion
  const message = assistantMessage(state, thread, { parts, toolCalls, model, finishReason, usage })
  if (toolCalls.length > 0 || !isLeaders(thread)) {
    await storeRound(state, thread, message)
    return toolCalls.length === 0
  }
  thread.storing = message.id
  const stopReason = isCutShort(message) ? 'output_limit' : (last ?? 'answer')
  await finish(state, { outcome: 'completed', stopReason, message })
  return true
}

/** Gives the lease back until nothing waits any longer. Returns false when there is something to do first: go on. */
async function pauseRun(state: RunState): Promise<boolean> {
  const { log, reader } = state.store
  const { lease } = state.held
  await state.writer.settled()
  // Some may have been resolved since their round was stored.
  const threads = [...threadsOf(state.leader)]
  for (const thread of threads) {
    const rows = await Promise.all(ownCalls(thread).map((row) => reader.message(lease, row.id)))
    remember(
      thread,
      rows.filter((row) => row !== undefined),
    )
  }
  await emitResolvedCalls(state)
  const waiting = threads.flatMap(ownCalls).toSorted((one, other) => (one.id < other.id ? -1 : 1))
  if (waiting.length === 0 || waiting.some((row) => row.status !== 'waiting')) return false
  const run = await log.pause(lease)
  if (run === undefined) {
    await state.store.readHeader()
    return false
  }
  const paused = lastChange(run)
  if (paused !== undefined) state.emit(withWaiting(paused, waiting))
  return true
}

/** Ends the run with what its completion cites, and what it has decided for the requests of later runs. */
async function finish(state: RunState, completed: RunEnd): Promise<void> {
  const end = { ...completed, ...definedFields({ context: await mediaAtEnd(state, completed.message) }) }
  if (state.leader.agent.policies.sources === 'keep') await endRun(state, end)
  else {
    const { citationsAtEnd } = await import('./sources/citations-at-end.ts')
    await endRun(state, { ...end, ...(await citationsAtEnd(state, end)) })
  }
}

/** The open calls that no member works for. */
const ownCalls = (thread: Thread): ToolMessage[] => openCalls(thread).filter(({ id }) => !thread.members.has(id))

/**
 * Does `work` within an `invoke_agent` span of the run (OpenTelemetry's conventions for generative AI); nothing where no SDK is
 * registered. The span holds names, ids and counts, and no content.
 */
async function inRunSpan<Result>(state: RunState, work: () => Promise<Result>): Promise<Result> {
  const { run, lease, origin } = state.held
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': run.agent,
    'gen_ai.conversation.id': lease.session,
    'gen_ai.request.model': state.leader.agent.model,
    'tooltrail.run.id': run.id,
    'tooltrail.run.origin': origin,
  }
  const options = { kind: SpanKind.INTERNAL, attributes }
  return trace.getTracer('tooltrail').startActiveSpan(`invoke_agent ${run.agent}`, options, async (span) => {
    try {
      return await work()
    } catch (error) {
      span.setAttribute('error.type', error instanceof Error ? error.name : '_OTHER')
      span.setStatus({ code: SpanStatusCode.ERROR })
      throw error
    } finally {
      if (state.ended !== undefined) describe(span, state.ended.run)
      span.end()
    }
  })
}

/** What the end of the run says of it. */
function describe(span: Span, { usage, stopReason, error }: Run): void {
  if (usage.inputTokens !== null) span.setAttribute('gen_ai.usage.input_tokens', usage.inputTokens)
  if (usage.outputTokens !== null) span.setAttribute('gen_ai.usage.output_tokens', usage.outputTokens)
  if (stopReason !== undefined) span.setAttribute('tooltrail.run.stop_reason', stopReason)
  if (error === undefined) return
  span.setAttribute('error.type', error.code)
  span.setStatus({ code: SpanStatusCode.ERROR })
}
