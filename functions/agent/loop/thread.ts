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

/**
 * One conversation with a model within a run: that of the leader, or that of a team member about one task. It can be read and
 * ended, but it cannot request or execute anything before it is an `OpenThread`.
 */
export interface Thread extends ParentNames {
  readonly runId: string
  readonly agent: Agent
  /**
   * The messages for the next request, ids ascending. For the leader: the newest part of the log that fits the context. For a
   * member: all messages from its task on.
   */
  readonly messages: Message[]
  /** Set for a member if the thread that delegated to it had searched the history before the delegate call. */
  readonly searched?: true
  /** The thread's working members, by the id of the delegate call's row. */
  readonly members: Map<string, OpenThread>
  /** Number of the round whose calls are refused, because the request has the tool choice `none`. */
  refusedRound?: number | undefined
  /** The budget of the run, shared by all of its threads. */
  readonly budget: RunBudget
  /** Number of attempts at the completion of `round` that this holder has discarded. */
  readonly discarded: { round: number; attempts: number }
}

/** A thread that can request completions and execute calls. It shares messages, members and budget with its `Thread`. */
export interface OpenThread extends Thread {
  readonly tools: Tools
  /** Opens the model at the first request. Rejects with `ModelError` if that fails. */
  model(): Promise<Model>
  /**
   * Texts for the model about calls whose arguments do not fit the schema, by the row of the call. Removed when the
   * call ends.
   */
  readonly faults: Map<string, string>
  /** Whether the next completion may use the whole time of a process. */
  isWhole: boolean
  /** Whether a summary must be considered before the first request. */
  summary: 'due' | 'considered'
}

/** The tokens that the completions of a run have used, and their limit. */
export interface RunBudget {
  readonly most: number | null
  /**
   * Tokens of each completion, by its id. The key `SUMMARIES` holds the tokens of the run's summaries, which precede all
   * completions.
   */
  readonly taken: Map<string, number>
}

const blank = (): Pick<Thread, 'messages' | 'members' | 'discarded'> => ({
  messages: [],
  members: new Map(),
  discarded: { round: 0, attempts: 0 },
})

/** Creates a leader without messages. */
export function createLeader(runId: string, agent: Agent): Thread {
  const budget = { most: agent.policies.maxRunTokens, taken: new Map<string, number>() }
  return { runId, agent, budget, ...blank() }
}

/** Creates the member that a delegate call names. */
export function createMember({ runId, budget }: Thread, call: ToolMessage, agent: Agent): Thread {
  const parent = { parentToolCallId: call.toolCallId, parentMessageId: call.id }
  const marks = definedFields({ searched: call.searched })
  return { runId, agent, ...parent, ...marks, budget, ...blank() }
}

/** A thread and all members below it. */
export function* threadsOf<One extends Thread>(thread: One): Generator<One | OpenThread, void> {
  yield thread
  for (const member of thread.members.values()) yield* threadsOf(member)
}

/** Counts the tokens of the run's completions, including those of ended threads, in the run's budget. */
export function takeNote({ runId, budget }: Thread, messages: readonly Message[]): void {
  for (const one of messages)
    if (one.role === 'assistant' && one.runId === runId) budget.taken.set(one.id, totalTokens(one.usage ?? NO_USAGE))
}

/** The key of summaries in `taken`; it sorts before every id. */
const SUMMARIES = ''

/** Adds the tokens of one more summary of the run to the run's budget. */
export const takeNoteOfSummary = ({ budget }: Thread, usage: Usage | undefined): void =>
  void budget.taken.set(SUMMARIES, (budget.taken.get(SUMMARIES) ?? 0) + totalTokens(usage ?? NO_USAGE))

/**
 * Counts the tokens of all summaries of the run in the run's budget. They are the run's usage under the name `SUMMARY_AGENT`.
 * An agent may have this name, too. The tokens of the agent's completions are subtracted here, because the budget counts them
 * separately.
 */
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

/** Inserts messages in the order of their ids. A message with the same id is replaced. */
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

/** The thread's messages that belong to this run. */
export const ownMessages = (thread: Thread): Message[] => thread.messages.filter((message) => isOwn(thread, message))

export const openCalls = (thread: Thread): ToolMessage[] =>
  thread.messages.filter(
    (message): message is ToolMessage =>
      message.role === 'tool' && OPEN_STATUSES.includes(message.status) && isOwn(thread, message),
  )

/** Number of rounds that the thread has stored so far. */
export const roundsOf = (thread: Thread): number =>
  ownMessages(thread).reduce((count, { role }) => count + (role === 'assistant' ? 1 : 0), 0)

/** The fields that identify a member in events; empty for the leader. */
export const memberNames = (thread: Thread): ParentNames & { readonly agent?: string } =>
  isLeaders(thread) ? {} : { agent: thread.agent.name, ...parentNames(thread) }

/** The fields that identify the thread's next round in events. */
export function roundOf(thread: Thread): RoundOfThread {
  return { runId: thread.runId, ...memberNames(thread), round: roundsOf(thread) }
}

/** Finds the call of a row, and the message that contains the call. The row itself has no arguments. */
export function callOf(thread: Thread, row: ToolMessage): { asked: AssistantMessage; call: ToolCall } {
  const asked = thread.messages.find((message) => message.id === row.assistantMessageId)
  const call = asked?.role === 'assistant' ? asked.toolCalls[row.sequence] : undefined
  if (asked?.role !== 'assistant' || call === undefined)
    throw new Error(`message ${row.id} has no call in message ${row.assistantMessageId}`)
  return { asked, call }
}

export type LastRound = Extract<StopReason, 'max_rounds' | 'budget'>

/**
 * Why the round of the completion `asked` must be the thread's last; undefined if another round may follow. Without `asked`,
 * checks the thread's next round. The leader's budget covers the run with all of its members. A member's own budget covers its
 * task.
 */
export function lastRoundReason(thread: Thread, asked?: Pick<AssistantMessage, 'id' | 'round'>): LastRound | undefined {
  const { maxRounds, maxRunTokens } = thread.agent.policies
  if ((asked?.round ?? roundsOf(thread)) >= maxRounds) return 'max_rounds'
  if (thread.budget.most !== null && tokensBefore(thread, asked?.id) >= thread.budget.most) return 'budget'
  if (isLeaders(thread) || maxRunTokens === null) return undefined
  const own = new Set(ownMessages(thread).map(({ id }) => id))
  return tokensBefore(thread, asked?.id, own) >= maxRunTokens ? 'budget' : undefined
}

/** Sums the tokens of the completions before the id `before`. With `among`, sums only completions whose ids are in `among`. */
function tokensBefore({ budget }: Thread, before: string | undefined, among?: ReadonlySet<string>): number {
  let sum = 0
  for (const [id, tokens] of budget.taken)
    if ((before === undefined || id < before) && (among?.has(id) ?? true)) sum += tokens
  return sum
}

/**
 * Whether the provider's output limit truncated the completion. Its last call may lack arguments and still be valid
 * JSON.
 */
export const isCutShort = ({ finishReason }: Pick<AssistantMessage, 'finishReason'>): boolean =>
  finishReason === 'length'

/**
 * Why a call of a completion is not executed; undefined if the call is executed. Derived from the log alone, so that the next
 * holder makes the same decision.
 */
export function refusalOf(thread: Thread, asked: AssistantMessage, sequence: number): string | undefined {
  if (isCutShort(asked))
    return 'not executed: the completion was cut off by its output limit before its calls were whole. Ask for less at a time'
  if (thread.refusedRound !== undefined && asked.round === thread.refusedRound)
    return 'not executed: the request allows no calls (tool choice none)'
  const last = lastRoundReason(thread, asked)
  if (last !== undefined) return `this was the run's last round (${last}): no further calls`
  if (sequence >= MAX_ROUND_CALLS) return `not executed: of one round's calls, the first ${MAX_ROUND_CALLS} are`
  return undefined
}

/** Whether the thread has a completion after this id. Completions that ended with an error are not counted. */
export const hasCompletedSince = ({ messages }: Thread, id: string): boolean =>
  messages.some((one) => one.role === 'assistant' && one.finishReason !== 'error' && one.id > id)

/** The thread's messages as a separate conversation, for its requests. */
export const conversationOf = (thread: Thread): readonly Message[] =>
  isLeaders(thread)
    ? thread.messages
    : thread.messages.map(({ parentToolCallId: _call, parentMessageId: _row, ...message }) => message as Message)
