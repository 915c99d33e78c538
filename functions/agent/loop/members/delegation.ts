import { LeaseLost } from '../../../domain/errors.ts'
import { parentNames, textOf } from '../../../domain/messages/message.ts'
import type { AssistantPart, ToolMessage, UserMessage } from '../../../domain/messages/message.ts'
import { isDelegation } from '../../../domain/runs/team.ts'
import { isRepairable, ModelError } from '../../../ports/model.ts'
import { CompletionFailed, keptParts } from '../model/completion-failed.ts'
import { taskIn } from './delegate-tool.ts'
import type { Task } from './delegate-tool.ts'
import { RunCancelled } from '../lease-keeper.ts'
import { agentNamed, openTools, warnAboutMissingTools } from '../open-thread.ts'
import { assistantMessage } from '../run-state.ts'
import type { RunState } from '../run-state.ts'
import {
  callOf,
  createMember,
  endedBy,
  isCutShort,
  lastRoundReason,
  openCalls,
  ownMessages,
  refusalOf,
  remember,
} from '../thread.ts'
import type { LastRound, Thread, ThreadEnding } from '../thread.ts'
import { storeRound } from '../tools/tool-batch.ts'
import { parseArguments } from '../tools/tool-call.ts'
import type { CallOutcome } from '../tools/tool-call.ts'

/** Stores the task of each delegate call before its member begins. */
export async function storeTasks(state: RunState, thread: Thread): Promise<void> {
  const { ports, writer } = state
  const given = openCalls(thread).flatMap((row) => {
    const task = thread.members.has(row.id) ? undefined : acceptedTask(thread, row)
    return task === undefined ? [] : [{ row, ...task }]
  })
  if (given.length === 0) return
  const members = given.map(({ row, member }) => createMember(thread, row, agentNamed(state, member)))
  await Promise.all(members.map(async (member) => warnAboutMissingTools(state, member, await openTools(state, member))))
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
  for (const [place, member] of members.entries()) remember(member, tasks.slice(place, place + 1))
}

/** Returns the task of a call that a member executes; undefined for all other calls and for refused ones. */
function acceptedTask(thread: Thread, row: ToolMessage): Task | undefined {
  if (!isDelegation(row)) return undefined
  const { asked, call } = callOf(thread, row)
  const input = parseArguments(call.arguments)
  const tool = thread.tools.get(row.toolName)
  if (input === undefined || tool?.check?.(input) !== undefined) return undefined
  return refusalOf(thread, asked, row.sequence) === undefined ? taskIn(call.arguments) : undefined
}

/**
 * Continues a member's work on its task after its last stored message, and returns the outcome of the delegate call. The outcome
 * is derived from the log alone, so no model request is made for a member that has ended. Returns undefined while the member
 * waits or must be handed off. A failure of the member itself becomes the error of its call. Any other failure stops the run.
 */
export async function executeDelegation(
  state: RunState,
  member: Thread,
  advance: () => Promise<ThreadEnding>,
): Promise<CallOutcome | undefined> {
  const before = outcomeOf(member)
  if (before !== undefined) return before
  try {
    if ((await advance()) !== 'ended') return undefined
  } catch (error) {
    await keepFailure(state, member, error)
  }
  return outcomeOf(member)
}

/**
 * Stores the text that a member's completion had streamed before it failed. Rethrows a failure that is not the member's own,
 * because it stops the run. The rethrown error does not contain the text: the text belongs to the member, not to a completion of
 * its leader.
 */
async function keepFailure(state: RunState, member: Thread, error: unknown): Promise<void> {
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

/** Marks the text as partial, so that a holder that resumes the run does not use it as the member's answer. */
const STOPPED = { type: 'error', code: 'storage', text: 'a failure stopped the run' } as const

/** Returns the outcome of an ended member's delegate call; undefined while the member can continue. */
function outcomeOf(member: Thread): CallOutcome | undefined {
  const last = ownMessages(member).findLast(({ role }) => role !== 'tool')
  if (last?.role !== 'assistant' || openCalls(member).length > 0) return undefined
  const error = last.parts.find((part) => part.type === 'error')
  if (error !== undefined) return failed(member, `failed: ${error.code}: ${error.text}`)
  const over = last.toolCalls.length > 0 ? endedBy(member) : lastRoundReason(member, last)
  if (over !== undefined) return failed(member, USED_UP[over], textOf(last.parts))
  if (last.toolCalls.length > 0) return undefined
  const text = textOf(last.parts)
  return { status: 'completed', text: isCutShort(last) ? `${text}${CUT_SHORT}` : text }
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
