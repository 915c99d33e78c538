import type { Agent } from '../../domain/agent.ts'
import { SUMMARY_AGENT } from '../../domain/context.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import { isLeaders, MAX_ROUND_CALLS, OPEN_STATUSES, parentNames } from '../../domain/messages/message.ts'
import type { AssistantMessage, Message, ParentNames, ToolCall, ToolMessage } from '../../domain/messages/message.ts'
import type { Run, StopReason } from '../../domain/runs/run.ts'
import { NO_USAGE } from '../../domain/usage/usage.ts'
import type { Usage } from '../../domain/usage/usage.ts'
import { totalTokens } from '../../domain/usage/usage-count.ts'
import type { RoundOfThread } from '../../log/run-events.ts'
import type { Model } from '../../ports/model.ts'
import type { Tools } from '../../ports/tool.ts'

/** One conversation with a model within a run: the leader's, or that of a team member with one task. */
export interface Thread extends ParentNames {
  readonly runId: string
  readonly agent: Agent
  /** What the next request is made of, ids ascending: the log's tail within the context budget; a member's from its task on. */
  readonly messages: Message[]
  /** Of a member: whoever gave the task had searched the history before. */
  readonly searched?: true
  /** Its members at work, by the row of the delegate call. */
  readonly members: Map<string, Thread>
  /** Texts for the model about calls whose arguments do not fit, by the row of the call; only until the call has ended. */
  readonly faults: Map<string, string>
  /** Of the run, whichever thread it is. */
  readonly budget: RunBudget
  /** Set once, when the thread is opened. */
  model: Model | undefined
  tools: Tools
  /** Its next completion has all the time that a process has. */
  isWhole: boolean
  /** The id of the completion that is being stored, or was last. */
  storing?: string
}

/** How far a thread has come. `waiting`: calls of it or of its members wait for somebody else. */
export type ThreadEnding = 'ended' | 'waiting' | 'handed_over'

/** What the completions of a run have taken, and may take. */
export interface RunBudget {
  readonly most: number | null
  /** Tokens by the id of the completion; of summaries, which come before all of them, by `SUMMARIES`. */
  readonly taken: Map<string, number>
}

const unopened = (): Pick<Thread, 'members' | 'faults' | 'model' | 'tools' | 'isWhole'> => ({
  members: new Map(),
  faults: new Map(),
  model: undefined,
  tools: new Map(),
  isWhole: false,
})

/** A leader that knows nothing of the log yet, and whose model and tools are still to be opened. */
export function createLeader(runId: string, agent: Agent): Thread {
  const budget = { most: agent.policies.maxRunTokens, taken: new Map<string, number>() }
  return { runId, agent, messages: [], budget, ...unopened() }
}

/** The same for the member that a delegate call names; the thread that made the call knows it from now on. */
export function createMember(of: Thread, call: ToolMessage, agent: Agent): Thread {
  const { runId, budget } = of
  const parent = { parentToolCallId: call.toolCallId, parentMessageId: call.id }
  const marks = definedFields({ searched: call.searched })
  const member = { runId, agent, ...parent, ...marks, messages: [], budget, ...unopened() }
  of.members.set(call.id, member)
  return member
}

/** A thread and the members that work for it, and for them. */
export function* threadsOf(thread: Thread): Generator<Thread, void> {
  yield thread
  for (const member of thread.members.values()) yield* threadsOf(member)
}

/** Takes note of what the run's completions have taken, those of threads that have ended among them. */
export function takeNote({ runId, budget }: Thread, messages: readonly Message[]): void {
  for (const one of messages)
    if (one.role === 'assistant' && one.runId === runId) budget.taken.set(one.id, totalTokens(one.usage ?? NO_USAGE))
}

/** Before every id. */
const SUMMARIES = ''

/** Takes note of what a summary that was made for the run has taken. */
export const takeNoteOfSummary = ({ budget }: Thread, usage: Usage | undefined): void =>
  void budget.taken.set(SUMMARIES, (budget.taken.get(SUMMARIES) ?? 0) + totalTokens(usage ?? NO_USAGE))

/** The same of all summaries that a run has counted. Without the completions of an agent of their name, which are among `messages`. */
export function takeNoteOfSummaries(
  { runId, budget }: Thread,
  { usageByAgent }: Pick<Run, 'usageByAgent'>,
  messages: readonly Message[],
): void {
  let tokens = totalTokens(usageByAgent[SUMMARY_AGENT] ?? NO_USAGE)
  for (const one of messages)
    if (one.role === 'assistant' && one.runId === runId && one.agent === SUMMARY_AGENT)
      tokens -= totalTokens(one.usage ?? NO_USAGE)
  budget.taken.set(SUMMARIES, tokens)
}

/** Puts messages where their ids belong, each in the place of the one with its id if there is one. */
export function remember(thread: Thread, added: readonly Message[]): void {
  const { messages } = thread
  takeNote(thread, added)
  for (const message of added) {
    const place = messages.findLastIndex(({ id }) => id <= message.id)
    const known = messages[place]?.id === message.id
    messages.splice(known ? place : place + 1, known ? 1 : 0, message)
  }
}

const isOwn = ({ runId, parentMessageId }: Thread, message: Message): boolean =>
  message.runId === runId && message.parentMessageId === parentMessageId

/** The thread's messages of this run. */
export const ownMessages = (thread: Thread): Message[] => thread.messages.filter((message) => isOwn(thread, message))

export const openCalls = (thread: Thread): ToolMessage[] =>
  thread.messages.filter(
    (message): message is ToolMessage =>
      message.role === 'tool' && OPEN_STATUSES.includes(message.status) && isOwn(thread, message),
  )

/** Rounds that the thread has stored so far. */
export const roundsOf = (thread: Thread): number =>
  ownMessages(thread).reduce((count, { role }) => count + (role === 'assistant' ? 1 : 0), 0)

/** What events say of a member; nothing of the leader. */
export const memberNames = (thread: Thread): ParentNames & { readonly agent?: string } =>
  isLeaders(thread) ? {} : { agent: thread.agent.name, ...parentNames(thread) }

/** What the events of the thread's next round say of it. */
export function roundOf(thread: Thread): RoundOfThread {
  return { runId: thread.runId, ...memberNames(thread), round: roundsOf(thread) }
}

/** The call that a row belongs to, and the message that asked for it; the row alone keeps no arguments. */
export function callOf(thread: Thread, row: ToolMessage): { asked: AssistantMessage; call: ToolCall } {
  const asked = thread.messages.find((message) => message.id === row.assistantMessageId)
  const call = asked?.role === 'assistant' ? asked.toolCalls[row.sequence] : undefined
  if (asked?.role !== 'assistant' || call === undefined)
    throw new Error(`message ${row.id} has no call in message ${row.assistantMessageId}`)
  return { asked, call }
}

export type LastRound = Extract<StopReason, 'max_rounds' | 'budget'>

/**
 * Why the round of this completion must be the thread's last, if it must; left out: the next one. The leader's budget is that of
 * the run, with all of its members; a member's own is for its task.
 */
export function lastRoundReason(thread: Thread, asked?: Pick<AssistantMessage, 'id' | 'round'>): LastRound | undefined {
  const { maxRounds, maxRunTokens } = thread.agent.policies
  if ((asked?.round ?? roundsOf(thread)) >= maxRounds) return 'max_rounds'
  if (thread.budget.most !== null && tokensBefore(thread, asked?.id) >= thread.budget.most) return 'budget'
  if (isLeaders(thread) || maxRunTokens === null) return undefined
  const own = new Set(ownMessages(thread).map(({ id }) => id))
  return tokensBefore(thread, asked?.id, own) >= maxRunTokens ? 'budget' : undefined
}

/** What the completions before this one have taken, or those of them that are `among` these. */
function tokensBefore({ budget }: Thread, before: string | undefined, among?: ReadonlySet<string>): number {
  let sum = 0
  for (const [id, tokens] of budget.taken)
    if ((before === undefined || id < before) && (among?.has(id) ?? true)) sum += tokens
  return sum
}

/** Whether the provider's output limit cut the completion off: its last call may lack arguments, and still be valid JSON. */
export const isCutShort = ({ finishReason }: Pick<AssistantMessage, 'finishReason'>): boolean =>
  finishReason === 'length'

/**
 * Why the call at this place of a completion is not executed, if it is not. Decided from the log alone, so that whoever takes
 * the run over decides the same.
 */
export function refusalOf(thread: Thread, asked: AssistantMessage, sequence: number): string | undefined {
  if (isCutShort(asked))
    return 'not executed: the completion was cut off by its output limit before its calls were whole. Ask for less at a time'
  const last = lastRoundReason(thread, asked)
  if (last !== undefined) return `this was the run's last round (${last}): no further calls`
  if (sequence >= MAX_ROUND_CALLS) return `not executed: of one round's calls, the first ${MAX_ROUND_CALLS} are`
  return undefined
}

/** Why the run is over now that its last round's calls are closed; undefined where it goes on. */
export function endedBy(thread: Thread): LastRound | undefined {
  const last = ownMessages(thread).findLast((message) => message.role !== 'tool')
  return last?.role === 'assistant' && last.toolCalls.length > 0 ? lastRoundReason(thread, last) : undefined
}

/** The thread's messages as a conversation of its own: what a request is made of. */
export const conversationOf = (thread: Thread): readonly Message[] =>
  isLeaders(thread)
    ? thread.messages
    : thread.messages.map(({ parentToolCallId: _call, parentMessageId: _row, ...message }) => message as Message)
