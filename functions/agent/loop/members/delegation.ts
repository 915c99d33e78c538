import { LeaseLost } from '../../../domain/errors.ts'
import { parentNames, textOf } from '../../../domain/messages/message.ts'
import type { AssistantPart, UserMessage } from '../../../domain/messages/message.ts'
import { isRepairable, ModelError } from '../../../ports/model.ts'
import { CompletionFailed, keptParts } from '../model/completion-failed.ts'
import { RunCancelled } from '../writer/lease-keeper.ts'
import { nextStep } from '../next-step.ts'
import type { GivenTask } from '../next-step.ts'
import { agentNamed, openThread, warnAboutMissingTools } from '../open-thread.ts'
import { assistantMessage } from '../run-state.ts'
import type { RunState } from '../run-state.ts'
import { createMember, isCutShort, remember } from '../thread.ts'
import type { LastRound, OpenThread, Thread } from '../thread.ts'
import { storeRound } from '../tools/store-round.ts'
import type { CallOutcome } from '../tools/tool-call.ts'

/** Opens the members of delegate calls, and stores the tasks before the members begin. */
export async function storeTasks(state: RunState, thread: OpenThread, given: readonly GivenTask[]): Promise<void> {
  const { ports, writer } = state
  const opening = given.map(({ row, member }) => createMember(thread, row, agentNamed(state, member)))
  const members = await Promise.all(
    opening.map(async (member) => {
      const { thread: opened, absent } = await openThread(state, member)
      await warnAboutMissingTools(state, opened, absent)
      return opened
    }),
  )
  const tasks = await writer.storeTasks(given.length, (ids) =>
    members.map((member, place): UserMessage => ({
      id: ids[place] ?? '',
      role: 'user',
      runId: member.runId,
      agent: member.agent.name,
      ...parentNames(member),
      round: 0,
      createdAt: ports.clock.now(),
      parts: [{ type: 'text', text: given[place]?.task ?? '' }],
    })),
  )
  for (const [place, member] of members.entries()) {
    remember(member, tasks.slice(place, place + 1))
    thread.members.set(member.parentMessageId ?? '', member)
  }
}

/**
 * Continues a member's work on its task after its last stored message, and returns the outcome of the delegate call. The outcome
 * is derived from the log alone, so no model request is made for a member that has ended. A failure of the member itself becomes
 * the error of its call. Any other failure stops the run.
 */
export async function executeDelegation(
  state: RunState,
  member: OpenThread,
  advance: () => Promise<'finished' | 'waiting' | 'handed_off'>,
): Promise<CallOutcome | 'waiting' | 'handed_off'> {
  const before = outcomeOf(member)
  if (before !== undefined) return before
  try {
    const ending = await advance()
    if (ending !== 'finished') return ending
  } catch (error) {
    await keepFailure(state, member, error)
  }
  return outcomeOf(member) ?? 'handed_off'
}

/**
 * Stores the text that a member's completion had streamed before it failed. Any failure other than the member's own stops the
 * run, so it is rethrown. The rethrown error does not contain the text: the text belongs to the member, not to a completion of
 * its leader.
 */
async function keepFailure(state: RunState, member: OpenThread, error: unknown): Promise<void> {
  const streamed = error instanceof CompletionFailed ? keptParts(error.streamed) : []
  const cause = error instanceof CompletionFailed ? error.cause : error
  if (cause instanceof LeaseLost) throw cause
  const model = member.agent.model === '' ? {} : { model: member.agent.model }
  const store = (...parts: readonly AssistantPart[]): Promise<void> => {
    const finishReason = cause instanceof RunCancelled ? 'cancelled' : 'error'
    return storeRound(state, member, assistantMessage(state, member, { parts, ...model, finishReason }))
  }
  if (cause instanceof ModelError) {
    if (isRepairable(cause)) await (await import('../context/repair.ts')).undoMembersSteps(state, member)
    await state.writer.settled()
    return store(...streamed, { type: 'error', code: cause.code, text: cause.message })
  }
  if (streamed.length > 0) await store(...streamed, ...(cause instanceof RunCancelled ? [] : [STOPPED]))
  throw cause
}

/** Marks the text as partial. A holder that resumes the run must not use the text as the member's answer. */
const STOPPED = { type: 'error', code: 'storage', text: 'a failure stopped the run' } as const

/** Returns the outcome of an ended member's delegate call; undefined while the member can continue. */
function outcomeOf(member: OpenThread): CallOutcome | undefined {
  const step = nextStep(member)
  if (step.type === 'fail') return failed(member, `failed: ${step.error.code}: ${step.error.text}`)
  if (step.type !== 'finish') return undefined
  const { answer, reason } = step
  const text = textOf(answer.parts)
  if (reason !== 'answer') return failed(member, USED_UP[reason], text)
  return { status: 'completed', text: isCutShort(answer) ? `${text}${CUT_SHORT}` : text }
}

/** Appended to a truncated answer, so that the leader does not take it for a complete one. */
const CUT_SHORT = '\n\n[This answer is not whole: the limit of output tokens cut it off.]'

const USED_UP: { readonly [reason in LastRound]: string } = {
  max_rounds: 'has used up its rounds (max_rounds)',
  budget: 'has used up its tokens (max_run_tokens)',
}

function failed({ agent }: Thread, how: string, said = ''): CallOutcome {
  return { status: 'error', text: `error: ${agent.name} ${how}${said === '' ? '' : `. It said last: ${said}`}` }
}
