import { isLeaders, MOST_CALLS } from '../domain/message.ts'
import type { AssistantMessage, Message, ToolMessage, UserMessage } from '../domain/message.ts'
import type { RequestMessage, RequestText, RequestToolCall } from '../domain/model-request.ts'
import { groupTurns } from './turns.ts'
import { isResult, notExecuted, requestParts, toolResult } from './tool-result-text.ts'

export interface ReplayOptions {
  /** The run that the request is for; it is sent whole, with its media. */
  readonly currentRun: string
  readonly replay: 'full' | 'conversation'
}

type AssistantRequest = Extract<RequestMessage, { role: 'assistant' }>

/** Follows text that a failure cut off, where the model goes on without a new input: a request never ends with an answer. */
export const CUT_OFF_NOTE = '<system_note>The answer above was cut off by an error. Go on from there.</system_note>'

/**
 * The messages of the next model request: a pure function of the log (ascending ids), always valid, and with a stable prefix
 * (promises R1–R7). Calls and results are matched by assistant message and sequence, never by the provider's ids.
 *
 * Of an answer that failed, its text is sent and nothing else. A run without an input of its own (`continue`) belongs to the
 * turn of the run that it continues.
 */
export function replay(messages: readonly Message[], options: ReplayOptions): RequestMessage[] {
  return replayEach(messages, options).flatMap(({ sent }) => sent)
}

/** A user or assistant message, and what it and its results become in a request. */
export interface Replayed {
  readonly message: UserMessage | AssistantMessage
  readonly sent: readonly RequestMessage[]
}

/**
 * As `replay`, message by message. Of a part of a log that begins with a user or assistant message, with `replay: "full"`, each
 * becomes what it becomes in the whole log, if `currentFrom` says where the current turn begins, but for the last of the part.
 */
export function replayEach(
  messages: readonly Message[],
  options: ReplayOptions & { readonly currentFrom?: string },
): Replayed[] {
  const { currentRun, currentFrom } = options
  const leader = messages.filter(isLeaders)
  const results = resultsByAssistant(leader)
  const turns = groupTurns(leader)
  const current = turns.findLast((turn) => turn.some((message) => message.runId === currentRun)) ?? turns.at(-1)
  return turns.flatMap((turn, index) =>
    turn.map((message, place): Replayed => {
      const isCurrent = currentFrom === undefined ? turn === current : message.id >= currentFrom
      if (message.role === 'user') return { message, sent: [userRequest(message, isCurrent)] }
      if (!isCurrent && options.replay === 'conversation')
        return { message, sent: place === turn.length - 1 ? finalAnswer(message) : [] }
      const following = turn[place + 1] ?? turns[index + 1]?.[0]
      const note = cutOffNote(message, following, currentRun)
      return { message, sent: [...round(message, results.get(message.id), isCurrent), ...note] }
    }),
  )
}

function resultsByAssistant(messages: readonly Message[]): Map<string, Map<number, ToolMessage>> {
  const results = new Map<string, Map<number, ToolMessage>>()
  for (const message of messages) {
    if (message.role !== 'tool') continue
    const batch = results.get(message.assistantMessageId) ?? new Map<number, ToolMessage>()
    results.set(message.assistantMessageId, batch.set(message.sequence, message))
  }
  return results
}

function userRequest(message: UserMessage, withMedia: boolean): RequestMessage {
  const parts = requestParts(message.parts, withMedia)
  return { role: 'user', parts: parts.length > 0 ? parts : [{ type: 'text', text: '' }] }
}

/** An assistant message and directly after it one result per call, in sequence order (promises R1, R2). */
function round(
  message: AssistantMessage,
  results: ReadonlyMap<number, ToolMessage> | undefined,
  withMedia: boolean,
): RequestMessage[] {
  const rows = message.toolCalls.map((call, sequence) => {
    const row = results?.get(sequence)
    return row?.toolCallId === call.id ? row : undefined
  })
  if (message.toolCalls.length === 0) return hasFailed(message) ? textOnly(message) : answer(message)
  if (!rows.some((row) => row !== undefined && isResult(row))) return textOnly(message)
  const answers = message.toolCalls.map((call, sequence) =>
    sequence < MOST_CALLS || rows[sequence] !== undefined
      ? toolResult(call, rows[sequence], withMedia)
      : notExecuted(call),
  )
  return [withCalls(message), ...answers]
}

const hasFailed = (message: AssistantMessage): boolean => message.parts.some((part) => part.type === 'error')

function hasText(parts: AssistantRequest['parts']): boolean {
  return parts.some((part) => part.type === 'text' && part.text !== '')
}

/** An answer without calls, whole; nothing when it has no text. */
function answer(message: AssistantMessage): AssistantRequest[] {
  const parts = message.parts.flatMap((part) => (part.type === 'text' || part.type === 'reasoning' ? [part] : []))
  return hasText(parts) ? [{ role: 'assistant', parts }] : []
}

/** Reasoning without the call or the answer that it led to is refused by providers: only the text is left. */
function textOnly(message: AssistantMessage): AssistantRequest[] {
  const parts = message.parts.flatMap((part): RequestText[] => (part.type === 'text' ? [part] : []))
  return hasText(parts) ? [{ role: 'assistant', parts }] : []
}

/** What is left of an earlier run's last message under `replay: "conversation"`. */
function finalAnswer(message: AssistantMessage): AssistantRequest[] {
  return message.toolCalls.length > 0 || hasFailed(message) ? textOnly(message) : answer(message)
}

/** The n-th place of a call takes the n-th call; calls without a place follow at the end. */
function withCalls(message: AssistantMessage): AssistantRequest {
  const calls = message.toolCalls.map((call): RequestToolCall => ({ type: 'tool_call', ...call }))
  const parts: AssistantRequest['parts'][number][] = []
  for (const part of message.parts) {
    const sent = part.type === 'tool_call' ? calls.shift() : part
    if (sent !== undefined && sent.type !== 'error') parts.push(sent)
  }
  return { role: 'assistant', parts: [...parts, ...calls] }
}

function cutOffNote(
  message: AssistantMessage,
  following: UserMessage | AssistantMessage | undefined,
  currentRun: string,
): RequestMessage[] {
  if (!hasFailed(message) || textOnly(message).length === 0) return []
  const goesOn = following === undefined ? message.runId !== currentRun : following.role === 'assistant'
  return goesOn ? [{ role: 'user', parts: [{ type: 'text', text: CUT_OFF_NOTE }] }] : []
}
