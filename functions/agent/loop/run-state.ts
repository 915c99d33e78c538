import type { Agent } from '../../domain/agent.ts'
import type { RunEvent } from '../../domain/events.ts'
import { nextId, nextIds } from '../../domain/ids.ts'
import type { AssistantMessage, AssistantPart, Message, ToolCall, ToolMessage } from '../../domain/message.ts'
import { OPEN_STATUSES } from '../../domain/message.ts'
import type { Session } from '../../domain/session.ts'
import type { Model } from '../../ports/model.ts'
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

/** Puts messages where their ids belong, each in the place of the one with its id if there is one. */
export function remember(state: RunState, messages: readonly Message[]): void {
  for (const message of messages) {
    const place = state.messages.findLastIndex(({ id }) => id <= message.id)
    const known = state.messages[place]?.id === message.id
    state.messages.splice(known ? place : place + 1, known ? 1 : 0, message)
  }
}

const isOfRun = ({ held }: RunState, message: Message): boolean =>
  message.runId === held.run.id && message.parentToolCallId === undefined

export const runMessages = (state: RunState): Message[] => state.messages.filter((message) => isOfRun(state, message))

export const openCalls = (state: RunState): ToolMessage[] =>
  state.messages.filter(
    (message): message is ToolMessage =>
      message.role === 'tool' && OPEN_STATUSES.includes(message.status) && isOfRun(state, message),
  )

/** Rounds that the run has stored so far. */
export const roundsOf = (state: RunState): number =>
  state.messages.filter((message) => message.role === 'assistant' && isOfRun(state, message)).length

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
