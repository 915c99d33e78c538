import type { Agent } from '../domain/agent.ts'
import type { RunEvent } from '../domain/events.ts'
import { nextId, nextIds } from '../domain/ids.ts'
import type { AssistantMessage, AssistantPart, Message, ToolCall, ToolMessage } from '../domain/message.ts'
import { OPEN_STATUSES } from '../domain/message.ts'
import type { Session } from '../domain/session.ts'
import type { Model } from '../ports/model.ts'
import type { HeldRun } from './loop-dependencies.ts'
import type { LeaseKeeper } from './lease-keeper.ts'
import type { ResultWriter } from './result-writer.ts'

/** What the loop knows of its run while it holds the lease: the log so far and who helps. */
export interface RunState {
  readonly held: HeldRun
  readonly session: Session
  readonly agent: Agent
  readonly model: Model
  readonly keeper: LeaseKeeper
  readonly writer: ResultWriter
  /** Aborts when the lease is lost, the run is cancelled, or a result could not be stored. */
  readonly signal: AbortSignal
  /** What the next request is made of: the log's tail within the context budget, ids ascending. */
  messages: Message[]
  /** The log's last id. */
  head: string | undefined
  emit(event: RunEvent): void
}

/** The next ids of the log. */
export function allocate(state: RunState, now: number, count: number): string[] {
  const ids = nextIds(state.head, now, count)
  state.head = ids.at(-1) ?? state.head
  return ids
}

/** Puts new messages at the end, and changed ones in their place. */
export function remember(state: RunState, messages: readonly Message[]): void {
  const changed = new Map(messages.map((message) => [message.id, message]))
  state.messages = state.messages.map((message) => {
    const newer = changed.get(message.id)
    changed.delete(message.id)
    return newer ?? message
  })
  state.messages.push(...changed.values())
}

export const runMessages = (state: RunState): Message[] =>
  state.messages.filter((message) => message.runId === state.held.run.id && message.parentToolCallId === undefined)

export const openCalls = (state: RunState): ToolMessage[] =>
  runMessages(state).filter(
    (message) => message.role === 'tool' && OPEN_STATUSES.includes(message.status),
  ) as ToolMessage[]

/** Rounds that the run has stored so far. */
export const roundsOf = (state: RunState): number =>
  runMessages(state).filter((message) => message.role === 'assistant').length

/** The call that a row belongs to; the row alone keeps no arguments. */
export function callOf(state: RunState, row: ToolMessage): ToolCall {
  const assistant = state.messages.find((message) => message.id === row.assistantMessageId)
  const call = assistant?.role === 'assistant' ? assistant.toolCalls[row.sequence] : undefined
  if (call === undefined) throw new Error(`message ${row.id} has no call in message ${row.assistantMessageId}`)
  return call
}

/** An assistant message of this run, not yet stored, with an id after the log's last. */
export function assistantMessage(
  state: RunState,
  now: number,
  content: Partial<AssistantMessage> & { readonly parts: readonly AssistantPart[] },
): AssistantMessage {
  const { run } = state.held
  return {
    id: nextId(state.head, now),
    role: 'assistant',
    runId: run.id,
    agent: run.agent,
    round: roundsOf(state),
    createdAt: now,
    toolCalls: [],
    ...content,
  }
}
