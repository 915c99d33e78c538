import { MAX_ROUND_CALLS } from '../../domain/messages/message.ts'
import type { AssistantMessage, AssistantPart, ToolMessage } from '../../domain/messages/message.ts'
import { DELEGATE_TOOL, isDelegation } from '../../domain/runs/team.ts'
import { taskIn } from './members/delegate-tool.ts'
import type { Task } from './members/delegate-tool.ts'
import { callOf, lastRoundReason, openCalls, ownMessages, refusalOf, roundsOf } from './thread.ts'
import type { LastRound, OpenThread } from './thread.ts'
import { parseArguments } from './tools/tool-call.ts'

/** The next thing that a thread does. Each step names the rows that it needs. */
export type Step =
  /** Stores the rows of the last round's refused calls, beginning with the call at index `first`. */
  | { readonly type: 'storeRefused'; readonly asked: AssistantMessage; readonly first: number }
  /** Marks approved calls as running. */
  | { readonly type: 'beginApproved'; readonly calls: readonly ToolMessage[] }
  /** Stores the tasks of delegate calls. */
  | { readonly type: 'delegate'; readonly tasks: readonly GivenTask[] }
  /** Executes calls, and continues the members that work for calls. */
  | {
      readonly type: 'executeCalls'
      readonly calls: readonly ToolMessage[]
      readonly members: readonly WorkingMember[]
    }
  /** All open calls wait for a client or an approval. */
  | { readonly type: 'waitForDecision' }
  /** Considers a summary of the older messages. */
  | { readonly type: 'summarise' }
  /** Requests a completion and stores it. `last`: why no further completion may follow. */
  | { readonly type: 'request'; readonly last: LastRound | undefined }
  /** The work of the thread is over. `answer`: its last completion. */
  | { readonly type: 'finish'; readonly answer: AssistantMessage; readonly reason: LastRound | 'answer' }
  /** The thread has stored a failure. */
  | { readonly type: 'fail'; readonly error: ErrorPart }

export type ErrorPart = Extract<AssistantPart, { type: 'error' }>

/** A delegate call and the task that it gives. */
export interface GivenTask extends Task {
  readonly row: ToolMessage
}

/** A delegate call and the member that works for it. */
export interface WorkingMember {
  readonly row: ToolMessage
  readonly member: OpenThread
}

/**
 * Decides what a thread does next, from its log alone. Leaders and members advance in the same way. A crash between two steps
 * leaves a log from which the next holder decides the same.
 */
export function nextStep(thread: OpenThread): Step {
  return missingRows(thread) ?? callStep(thread, openCalls(thread)) ?? lastStep(thread) ?? requestStep(thread)
}

/**
 * Returns the running calls that a new holder closes as interrupted, because the former holder crashed. They may have run and
 * must not run twice. Calls of idempotent tools stay open and are executed again. Calls that a member works for stay open, and
 * the member resumes.
 */
export function interruptedCalls(thread: OpenThread): ToolMessage[] {
  const isRepeatable = ({ id, toolName }: ToolMessage): boolean =>
    thread.members.has(id) || thread.tools.get(toolName)?.idempotent === true
  return openCalls(thread).filter((row) => row.status === 'running' && !isRepeatable(row))
}

/**
 * The step that stores the rows of calls beyond `MAX_ROUND_CALLS`; undefined if all rows are stored. These calls are
 * refused, and their rows follow the round.
 */
function missingRows(thread: OpenThread): Step | undefined {
  const own = ownMessages(thread)
  const asked = own.findLast((message) => message.role === 'assistant')
  if (asked === undefined || asked.toolCalls.length <= MAX_ROUND_CALLS) return undefined
  const first = own.filter((one) => one.role === 'tool' && one.assistantMessageId === asked.id).length
  return first < asked.toolCalls.length ? { type: 'storeRefused', asked, first } : undefined
}

/** The step for the open calls of the last round; undefined if all calls are closed. */
function callStep(thread: OpenThread, open: readonly ToolMessage[]): Step | undefined {
  if (open.length === 0) return undefined
  const approved = open.filter(({ status }) => status === 'approved')
  if (approved.length > 0) return { type: 'beginApproved', calls: approved }
  const running = open.filter(({ status }) => status === 'running')
  const tasks = tasksIn(thread, running)
  if (tasks.length > 0) return { type: 'delegate', tasks }
  const calls = running.filter(({ id }) => !thread.members.has(id))
  const members = running.flatMap((row): WorkingMember[] => {
    const member = thread.members.get(row.id)
    return member === undefined || nextStep(member).type === 'waitForDecision' ? [] : [{ row, member }]
  })
  if (calls.length + members.length > 0) return { type: 'executeCalls', calls, members }
  return { type: 'waitForDecision' }
}

/** The delegate calls whose tasks are not stored yet. Refused calls, and those with invalid arguments, give no task. */
function tasksIn(thread: OpenThread, running: readonly ToolMessage[]): GivenTask[] {
  const tool = thread.tools.get(DELEGATE_TOOL)
  if (tool === undefined) return []
  return running.flatMap((row): GivenTask[] => {
    if (!isDelegation(row) || thread.members.has(row.id)) return []
    const { asked, call } = callOf(thread, row)
    const input = parseArguments(call.arguments)
    if (input === undefined || tool.check?.(input) !== undefined) return []
    const task = refusalOf(thread, asked, row.sequence) === undefined ? taskIn(call.arguments) : undefined
    return task === undefined ? [] : [{ row, ...task }]
  })
}

/** Returns the step that ends the thread, decided from its last completion. Undefined if another request follows. */
function lastStep(thread: OpenThread): Step | undefined {
  const answer = ownMessages(thread).findLast(({ role }) => role !== 'tool')
  if (answer?.role !== 'assistant') return undefined
  const error = answer.parts.find((part) => part.type === 'error')
  if (error !== undefined) return { type: 'fail', error }
  const reason = lastRoundReason(thread, answer) ?? (answer.toolCalls.length === 0 ? 'answer' : undefined)
  return reason && { type: 'finish', answer, reason }
}

function requestStep(thread: OpenThread): Step {
  if (thread.summary === 'due' && roundsOf(thread) === 0) return { type: 'summarise' }
  return { type: 'request', last: lastRoundReason(thread) }
}
