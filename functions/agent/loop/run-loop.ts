import { definedFields } from '../../domain/defined-fields.ts'
import type { AssistantMessage, ToolMessage } from '../../domain/messages/message.ts'
import type { RunEnd } from '../../domain/runs/run-changes.ts'
import type { Model } from '../../ports/model.ts'
import { consolidateIfDue } from './context/consolidate.ts'
import { mediaAtEnd } from './context/context.ts'
import { nextCompletion } from './model/complete.ts'
import { CompletionFailed } from './model/completion-failed.ts'
import { withoutAnswer } from './model/typed-answer.ts'
import type { Answer, AnswerEnd } from './model/typed-answer.ts'
import { countUnlessStored } from './model/unstored-usage.ts'
import { nextStep } from './next-step.ts'
import type { ErrorPart, Step } from './next-step.ts'
import { recordDecision } from './record-decision.ts'
import { emitResolvedCalls } from './resolved-calls.ts'
import { endRun, stopAfter } from './run-ending.ts'
import { inRunSpan } from './run-span.ts'
import { assistantMessage } from './run-state.ts'
import type { EndedPhase, ReleasedPhase, RunState } from './run-state.ts'
import type { NewNotice } from './writer/run-writer.ts'
import { isCutShort, openCalls, remember, threadsOf } from './thread.ts'
import type { LastRound, OpenThread, Thread } from './thread.ts'
import { withUniqueCallIds } from './tools/call-ids.ts'
import { executeCalls } from './tools/execute-calls.ts'
import type { RunMember } from './tools/execute-calls.ts'
import { storeRefused, storeRound } from './tools/store-round.ts'

/*
 * The turn. `nextStep` decides what a thread does next, and this file does it. These rules hold for every step. The code cites
 * them by number.
 *
 * 1. The log decides. A step is a function of the thread's log, so the next holder of a crashed run continues with the same step.
 * 2. Intent precedes its effect. A completion is stored with its calls before a call executes. An approved call is marked as
 *    running, and a task is stored, before the work on it begins.
 * 3. Results precede what builds on them. A completion, a steering input, a pause, a hand-off and the end of a run are stored
 *    after all results before them.
 * 4. A decision precedes its request. Truncations, summaries and other forms of a request are stored before it is sent.
 * 5. The end is one write. It stores the last completion with the end of the run, and releases the lease. A pause and a
 *    hand-off are also one write each, but without a completion.
 * 6. Work stops with its lease. Nothing begins after the signal of the writer has aborted, and the writer stores nothing then.
 * 7. Each completion is counted once: by the write that stores it, or else by the ledger.
 * 8. Events follow their write, in the order in which the writes began.
 */

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
 * run also releases the lease. The order of all writes is in promise L4.
 */
export function executeRun(state: RunState, handOff: HandOff): Promise<ReleasedPhase> {
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
async function lead(state: RunState, handOff: HandOff): Promise<ReleasedPhase> {
  const signal = AbortSignal.any([state.writer.signal, handOff.atOnce])
  const stops = { afterRound: handOff.afterRound, signal }
  for (;;) {
    const ending = await advance(state, state.leader, stops, leaderEnds(state))
    if (ending === 'handed_off') return release(state)
    if (ending !== 'waiting') return ending
    if (await pauseRun(state)) return { phase: 'paused' }
  }
}

/** `afterRound` stops a run after its current round. `signal` also cuts off a completion in flight. */
interface Stops {
  readonly afterRound: AbortSignal
  readonly signal: AbortSignal
}

/** The steps that differ between leaders and members: steering, and the ends of a thread. */
interface ThreadEnds<Ending> {
  /** Turns queued steering inputs into messages of the thread, before a request. */
  steer(): Promise<void>
  /** Ends a thread whose last completion is stored. */
  finish(reason: LastRound | 'answer'): Promise<Ending>
  /** Ends a thread that has stored a failure. */
  fail(error: ErrorPart): Promise<Ending>
  /** Stores a completion without calls. `end`: the result of its check. */
  answer(message: AssistantMessage, last: LastRound | undefined, end: AnswerEnd): Promise<Ending>
}

type Interrupted = 'waiting' | 'handed_off'

/** Advances a thread, step by step, until its work is over, waits or must be handed off (rule 1). */
async function advance<Ending>(
  state: RunState,
  thread: OpenThread,
  stops: Stops,
  ends: ThreadEnds<Ending>,
): Promise<Ending | Interrupted> {
  let notices: readonly NewNotice[] = []
  for (;;) {
    const step = nextStep(thread)
    switch (step.type) {
      case 'storeRefused':
        await storeRefused(state, thread, step)
        break
      case 'beginApproved':
        for (const { id } of step.calls) remember(thread, [await state.writer.beginApproved(id)])
        break
      case 'delegate':
        await (await import('./members/delegation.ts')).storeTasks(state, thread, step.tasks)
        break
      case 'executeCalls':
        if ((await executeCalls(state, thread, step, memberRunner(state, stops))) === 'handed_off') return 'handed_off'
        thread.isWhole = false
        break
      case 'waitForDecision':
        return 'waiting'
      case 'summarise': {
        if (stops.afterRound.aborted) return 'handed_off'
        const unsent = await consolidateIfDue(state, stops.signal)
        if (unsent === undefined) return 'handed_off'
        notices = unsent
        thread.summary = 'considered'
        break
      }
      case 'request': {
        if (stops.afterRound.aborted) return 'handed_off'
        const ending = await request(state, thread, { ...step, notices, signal: stops.signal }, ends)
        if (ending !== 'continues') return ending
        notices = []
        break
      }
      case 'finish':
        await state.writer.settled() // Rule 3.
        return ends.finish(step.reason)
      case 'fail':
        return ends.fail(step.error)
    }
  }
}

/** Returns the function that continues a member. Like its leader, the member advances by `advance`. */
const memberRunner =
  (state: RunState, stops: Stops): RunMember =>
  async (member) => {
    const { executeDelegation } = await import('./members/delegation.ts')
    return executeDelegation(state, member, () => advance(state, member, stops, memberEnds(state, member)))
  }

interface Asking extends Pick<Extract<Step, { type: 'request' }>, 'last'> {
  readonly notices: readonly NewNotice[]
  readonly signal: AbortSignal
}

/** Requests a completion and stores it. Returns how the thread ended, or that it continues. */
async function request<Ending>(
  state: RunState,
  thread: OpenThread,
  { last, notices, signal }: Asking,
  ends: ThreadEnds<Ending>,
): Promise<Ending | 'handed_off' | 'continues'> {
  await ends.steer()
  const model = await thread.model()
  const completion = await nextCompletion(state, thread, { model, isLast: last !== undefined, signal, notices })
  if (completion === undefined) return 'handed_off'
  thread.isWhole = false
  const message = await countUnlessStored(state, thread, completion, async () => {
    await state.writer.settled() // Rule 3.
    // Rule 6.
    if (state.writer.signal.aborted) throw new CompletionFailed(state.writer.signal.reason, completion.parts)
    return messageOf(state, thread, completion, model)
  })
  if (message.toolCalls.length === 0) return ends.answer(message, last, completion.end ?? {})
  await storeRound(state, thread, message)
  return 'continues'
}

/** Builds the message of a completion. */
function messageOf(state: RunState, thread: Thread, completion: Answer, { name }: Model): AssistantMessage {
  const { parts, toolCalls } = withUniqueCallIds(completion, state.ports.clock.now())
  const { model, finishReason, usage } = completion
  const named = { model, ...definedFields({ requestedModel: name === model ? undefined : name }) }
  return assistantMessage(state, thread, { parts, toolCalls, ...named, finishReason, usage })
}

/** The leader's end is the end of the run (rule 5). */
function leaderEnds(state: RunState): ThreadEnds<EndedPhase> {
  const { leader } = state
  return {
    steer: () => steerRun(state),
    finish: (reason) => finish(state, { outcome: 'completed', stopReason: reason, ...withoutAnswer(state, leader) }),
    async fail({ code, text }) {
      await state.writer.settled() // Rule 3.
      const error = { code, message: text, retryable: false }
      return endRun(state, { outcome: 'failed', stopReason: 'error', error })
    },
    answer: (message, last, end) =>
      countUnlessStored(state, leader, message, (begins) => {
        begins(message.id)
        const stopReason = isCutShort(message) ? 'output_limit' : (last ?? 'answer')
        return finish(state, { outcome: 'completed', stopReason, message, ...end })
      }),
  }
}

/** A member's end is its last message, from which the leader reads the result. */
function memberEnds(state: RunState, member: OpenThread): ThreadEnds<'finished'> {
  return {
    steer: async () => undefined,
    finish: async () => 'finished',
    fail: async () => 'finished',
    async answer(message, _last, { notices }) {
      if (notices !== undefined) await recordDecision(state, { notices })
      await storeRound(state, member, message)
      return 'finished'
    },
  }
}

/** Releases the lease with the run still active, so that another process continues it. */
async function release(state: RunState): Promise<ReleasedPhase> {
  await state.writer.settled() // Rule 3.
  await state.writer.release()
  return { phase: 'handed_off' }
}

/** Maximum number of steering inputs that become messages between two rounds. Further ones wait for the next round. */
const STEERED_AT_ONCE = 64

/** Turns queued steering inputs into user messages of the current run, in the order of the inputs, between two rounds. */
async function steerRun({ reads, writer, leader }: RunState): Promise<void> {
  if ((await writer.readHeader()).queued === 0) return
  await writer.settled() // Rule 3.
  for (const queuedRunId of await reads.reader.steering(writer.key, STEERED_AT_ONCE)) {
    const message = await writer.steer(queuedRunId)
    if (message !== undefined) remember(leader, [message])
  }
}

/**
 * Pauses the run and releases the lease until a waiting call is resolved. Returns false if there is work to do first.
 */
async function pauseRun(state: RunState): Promise<boolean> {
  const { reads, writer } = state
  await writer.settled() // Rule 3.
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

type Ending = Omit<RunEnd, 'notices'> & AnswerEnd

/** Ends the run with the citations of its completion and the context decisions for later runs. */
async function finish(state: RunState, { notices: drafts, ...completed }: Ending): Promise<EndedPhase> {
  const { message } = completed
  // The warnings follow the final completion, live and in the log.
  const notices = drafts?.map((notice) => ({ ...notice, after: message?.id ?? state.writer.head() }))
  const end = { ...completed, ...definedFields({ notices, context: await mediaAtEnd(state, message) }) }
  if (state.leader.agent.policies.sources === 'keep') return endRun(state, end)
  const { citationsAtEnd } = await import('./sources/citations-at-end.ts')
  return endRun(state, { ...end, ...(await citationsAtEnd(state, end)) })
}

/** The thread's open calls, except those that a member works for. */
const ownCalls = (thread: Thread): ToolMessage[] => openCalls(thread).filter(({ id }) => !thread.members.has(id))
