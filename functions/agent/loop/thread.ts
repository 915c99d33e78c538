import type { Agent } from '../../domain/agent.ts'
import type { AssistantMessage, Message, ToolCall, ToolMessage } from '../../domain/message.ts'
import { OPEN_STATUSES } from '../../domain/message.ts'
import type { RoundOfThread } from '../../log/run-events.ts'
import type { Model } from '../../ports/model.ts'
import { ModelError } from '../../ports/model.ts'
import type { Tools } from '../../ports/tool.ts'

/** One conversation with a model within a run: the leader's now, and each team member's later. */
export interface Thread {
  readonly runId: string
  readonly agent: Agent
  /** The leader's call that a team member works for. Absent: this is the leader. */
  readonly parentToolCallId?: string
  /** What the next request is made of, ids ascending: the log's tail within the context budget. */
  readonly messages: Message[]
  /** Set once, when the run is opened. */
  model: Model
  tools: Tools
}

/** A thread that knows nothing of the log yet, and whose model and tools are still to be opened. */
export function createLeader(runId: string, agent: Agent): Thread {
  return { runId, agent, messages: [], model: absentModel(agent.model), tools: new Map() }
}

function absentModel(name: string): Model {
  return {
    name,
    stream() {
      throw new ModelError('invalid_request', `model ${name} was not opened`, { retryable: false })
    },
  }
}

/** Puts messages where their ids belong, each in the place of the one with its id if there is one. */
export function remember({ messages }: Pick<Thread, 'messages'>, added: readonly Message[]): void {
  for (const message of added) {
    const place = messages.findLastIndex(({ id }) => id <= message.id)
    const known = messages[place]?.id === message.id
    messages.splice(known ? place : place + 1, known ? 1 : 0, message)
  }
}

const isOwn = ({ runId, parentToolCallId }: Thread, message: Message): boolean =>
  message.runId === runId && message.parentToolCallId === parentToolCallId

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

/** What the events of the thread's next round say of it. */
export function roundOf(thread: Thread): RoundOfThread {
  const { runId, agent, parentToolCallId } = thread
  const member = parentToolCallId === undefined ? {} : { agent: agent.name, parentToolCallId }
  return { runId, ...member, round: roundsOf(thread) }
}

/** The call that a row belongs to, and the message that asked for it; the row alone keeps no arguments. */
export function callOf(thread: Thread, row: ToolMessage): { asked: AssistantMessage; call: ToolCall } {
  const asked = thread.messages.find((message) => message.id === row.assistantMessageId)
  const call = asked?.role === 'assistant' ? asked.toolCalls[row.sequence] : undefined
  if (asked?.role !== 'assistant' || call === undefined)
    throw new Error(`message ${row.id} has no call in message ${row.assistantMessageId}`)
  return { asked, call }
}
