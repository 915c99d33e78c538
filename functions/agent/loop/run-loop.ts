import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Span } from '@opentelemetry/api'
import { definedFields } from '../../domain/defined-fields.ts'
import { isLeaders } from '../../domain/messages/message.ts'
import type { ToolMessage } from '../../domain/messages/message.ts'
import type { Run } from '../../domain/runs/run.ts'
import type { Completion } from '../../ports/model.ts'
import type { RunEnd } from '../../domain/runs/run-changes.ts'
import { withUniqueCallIds } from './tools/call-ids.ts'
import { nextCompletion } from './model/complete.ts'
import { CompletionFailed } from './model/completion-failed.ts'
import { consolidateIfDue } from './context/consolidate.ts'
import { mediaAtEnd } from './context/context.ts'
import { openModel } from './open-thread.ts'
import { emitResolvedCalls } from './resolved-calls.ts'
import { endRun, stopAfter } from './run-ending.ts'
import type { LoopEnding } from './run-ending.ts'
import { assistantMessage } from './run-state.ts'
import type { RunState } from './run-state.ts'
import { endedBy, isCutShort, lastRoundReason, openCalls, remember, roundsOf, threadsOf } from './thread.ts'
import type { LastRound, Thread, ThreadEnding } from './thread.ts'
import { executeOpenCalls, storeRound } from './tools/tool-batch.ts'
import type { Delegate } from './tools/tool-batch.ts'
import { countUnlessStored } from './model/unstored-usage.ts'

/**
 * Signals that request the hand-off of a run. `afterRound` lets the current round end. `atOnce` also cuts off a
 * completion; its reason is then a `CutOff`.
 */
export interface HandOff {
  readonly afterRound: AbortSignal
  readonly atOnce: AbortSignal
}

/**
 * Executes a run from the state in its log until it ends, pauses or is handed off. The write that ends or pauses the
 * run also releases the lease. Promises L4 gives the order of all writes.
 */
export function executeRun(state: RunState, handOff: HandOff): Promise<LoopEnding> {
  return inRunSpan(state, async () => {
    try {
      return await lead(state, handOff)
    } catch (error) {
      return await stopAfter(state, error)
    } finally {
      state.writer.stop()
    }
  })
}

/** Advances the leader and its members until the run ends, pauses or is handed off. */
async function lead(state: RunState, handOff: HandOff): Promise<LoopEnding> {
  const signal = AbortSignal.any([state.writer.signal, handOff.atOnce])
  for (;;) {
    const ending = await advance(state, state.leader, { ...handOff, signal })
    if (ending === 'ended') return 'ended'
    if (ending === 'handed_off') return release(state)
    if (await pauseRun(state)) return 'paused'
  }
}

/** `signal` cuts off a completion in flight. */
type Stops = Pick<HandOff, 'afterRound'> & { readonly signal: AbortSignal }

/** Advances a thread until it ends, waits or must be handed off. Leader and members work in the same way. */
async function advance(state: RunState, thread: Thread, stops: Stops): Promise<ThreadEnding> {
  const { afterRound, signal } = stops
  const delegate: Delegate = async (member) => {
    const { executeDelegation } = await import('./members/delegation.ts')
    return executeDelegation(state, member, () => advance(state, member, stops))
  }
  for (;;) {
    if (await executeOpenCalls(state, thread, delegate)) thread.isWhole = false
    if (openCalls(thread).length > 0) return isWaiting(thread) ? 'waiting' : 'handed_off'
    const over = endedBy(thread)
    if (over !== undefined) return endThread(state, thread, over)
    if (afterRound.aborted) return 'handed_off'
    const notices = isLeaders(thread) ? await consolidateIfDue(state, signal) : []
    if (notices === undefined) return 'handed_off'
    if (isLeaders(thread)) await steerRun(state, thread)
    await openModel(state, thread)
    const last = lastRoundReason(thread)
    const completion = await nextCompletion(state, thread, { isLast: last !== undefined, signal, notices })
    if (completion === undefined) return 'handed_off'
    thread.isWhole = false
    const rounds = roundsOf(thread)
    delete thread.storing
    try {
      await state.writer.settled()
      if (state.writer.signal.aborted) throw new CompletionFailed(state.writer.signal.reason, completion.parts)
      if (await storeCompletion(state, thread, completion, last)) return 'ended'
    } catch (error) {
      if (roundsOf(thread) === rounds) await countUnlessStored(state, thread, completion)
      throw error
    }
  }
}

/** Whether all open calls of the thread and its members wait for a client's result or an approval. */
function isWaiting(thread: Thread): boolean {
  return openCalls(thread).every((row) => {
    const member = thread.members.get(row.id)
    return member === undefined ? row.status === 'waiting' : openCalls(member).length > 0 && isWaiting(member)
  })
}

/** Ends a thread after the calls of its last round are closed. */
async function endThread(state: RunState, thread: Thread, stopReason: LastRound): Promise<ThreadEnding> {
  await state.writer.settled()
  if (isLeaders(thread)) await finish(state, { outcome: 'completed', stopReason })
  return 'ended'
}

/** Releases the lease with the run still active, so that another process continues it. */
async function release(state: RunState): Promise<LoopEnding> {
  await state.writer.settled()
  await state.writer.release()
  return 'handed_off'
}

/** Maximum number of steering inputs that become messages between two rounds. Further ones wait for the next round. */
const STEERED_AT_ONCE = 64

/** Makes queued steering inputs user messages of the current run, between two rounds and in their order. */
async function steerRun(state: RunState, thread: Thread): Promise<void> {
  const { reads, writer } = state
  if ((await writer.readHeader()).queued === 0) return
  await writer.settled()
  for (const queuedRunId of await reads.reader.steering(writer.key, STEERED_AT_ONCE)) {
    const message = await writer.steer(queuedRunId)
    if (message !== undefined) remember(thread, [message])
  }
}

/**
 * Stores a completion. A completion without calls ends the thread; the leader's also ends the run. Returns whether the
 * thread ended.
 */
async function storeCompletion(
  state: RunState,
  thread: Thread,
  completion: Completion,
  last: LastRound | undefined,
): Promise<boolean> {
  const { parts, toolCalls } = withUniqueCallIds(completion, state.ports.clock.now())
  const { model, finishReason, usage } = completion
  const requestedModel = thread.model?.name === model ? undefined : thread.model?.name
  const named = { model, ...definedFields({ requestedModel }) }
  const message = assistantMessage(state, thread, { parts, toolCalls, ...named, finishReason, usage })
  if (toolCalls.length > 0 || !isLeaders(thread)) {
    await storeRound(state, thread, message)
    return toolCalls.length === 0
  }
  thread.storing = message.id
  const stopReason = isCutShort(message) ? 'output_limit' : (last ?? 'answer')
  await finish(state, { outcome: 'completed', stopReason, message })
  return true
}

/**
 * Pauses the run and releases the lease until a waiting call is resolved. Returns false if there is work to do first.
 */
async function pauseRun(state: RunState): Promise<boolean> {
  const { reads, writer } = state
  await writer.settled()
  // Some calls may have been resolved since their round was stored.
  const threads = [...threadsOf(state.leader)]
  for (const thread of threads) {
    const rows = await Promise.all(ownCalls(thread).map((row) => reads.reader.message(writer.key, row.id)))
    remember(
      thread,
      rows.filter((row) => row !== undefined),
    )
  }
  await emitResolvedCalls(state)
  const waiting = threads.flatMap(ownCalls).toSorted((one, other) => (one.id < other.id ? -1 : 1))
  if (waiting.length === 0 || waiting.some((row) => row.status !== 'waiting')) return false
  return writer.pause(waiting)
}

/** Ends the run with the citations of its completion and the context decisions for later runs. */
async function finish(state: RunState, completed: RunEnd): Promise<void> {
  const end = { ...completed, ...definedFields({ context: await mediaAtEnd(state, completed.message) }) }
  if (state.leader.agent.policies.sources === 'keep') await endRun(state, end)
  else {
    const { citationsAtEnd } = await import('./sources/citations-at-end.ts')
    await endRun(state, { ...end, ...(await citationsAtEnd(state, end)) })
  }
}

/** The thread's open calls, except those that a member works for. */
const ownCalls = (thread: Thread): ToolMessage[] => openCalls(thread).filter(({ id }) => !thread.members.has(id))

/**
 * Does `work` within an `invoke_agent` span of the run (OpenTelemetry's conventions for generative AI). Without a
 * registered SDK, the span does nothing. It holds names, ids and counts, but no content.
 */
async function inRunSpan<Result>(state: RunState, work: () => Promise<Result>): Promise<Result> {
  const { run, origin } = state.held
  const attributes = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': run.agent,
    'gen_ai.conversation.id': state.writer.key.session,
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

/** Adds the usage, stop reason and error of an ended run to its span. */
function describe(span: Span, { usage, stopReason, error }: Run): void {
  if (usage.inputTokens !== null) span.setAttribute('gen_ai.usage.input_tokens', usage.inputTokens)
  if (usage.outputTokens !== null) span.setAttribute('gen_ai.usage.output_tokens', usage.outputTokens)
  if (stopReason !== undefined) span.setAttribute('tooltrail.run.stop_reason', stopReason)
  if (error === undefined) return
  span.setAttribute('error.type', error.code)
  span.setStatus({ code: SpanStatusCode.ERROR })
}
