import type { SessionContext } from '../domain/context.ts'
import { isLeaders, MAX_ROUND_CALLS } from '../domain/messages/message.ts'
import type { AssistantMessage, Message, ToolMessage, UserMessage } from '../domain/messages/message.ts'
import type { RequestMessage, RequestText, RequestToolCall } from '../domain/model-request.ts'
import type { NumberRanges } from '../domain/messages/number-ranges.ts'
import { toForm } from './request/request-form.ts'
import type { RequestForm } from './request/request-form.ts'
import { openingOf, withinContext } from './request/request-context.ts'
import { hasSources, recordedNumbers, withSources } from './sources.ts'
import type { SourceNumbers } from './sources.ts'
import { groupTurns } from './turns.ts'
import { isResult, notExecuted, requestParts, toolResult } from './tool-result-text.ts'

export interface ReplayOptions extends RequestForm {
  /** The run that makes the request. Its messages are sent completely, with their media. */
  readonly currentRun: string
  readonly replay: 'full' | 'conversation'
  /** Decisions about the session's requests. Default: none. */
  readonly context?: Pick<SessionContext, 'summary' | 'cut' | 'citations' | 'repairs'>
  /** From this message on, earlier turns are sent with their media. Default: all without media. */
  readonly mediaFrom?: string
  /** Source numbers in addition to those in the log. A result without a number is sent without its sources. */
  readonly numbers?: SourceNumbers
}

type AssistantRequest = Extract<RequestMessage, { role: 'assistant' }>

/**
 * The note after a text that an error cut off. The note is sent if the model continues without a new input, because a request
 * must not end with a completion.
 */
export const CUT_OFF_NOTE = '<system_note>The answer above was cut off by an error. Go on from there.</system_note>'

/**
 * Returns the messages of the next model request: the summary, the note on omitted messages, then the messages of the log. This
 * is a pure function of the log (ascending ids) and the decisions. The result is always valid and has a stable prefix (promises
 * R1–R7). Calls and results are matched by assistant message and sequence, never by the provider's ids.
 *
 * Only the text of a failed completion is sent. A run that has no input (`continue`) belongs to the turn of the run that it
 * continues.
 */
export function replay(messages: readonly Message[], options: ReplayOptions): RequestMessage[] {
  const { context = {} } = options
  return [...openingOf(context), ...replayEach(withinContext(messages, context), options).flatMap(({ sent }) => sent)]
}

/** A user or assistant message of the log. `sent`: the request messages made of this message and of the results of its calls. */
export interface Replayed {
  readonly message: UserMessage | AssistantMessage
  readonly sent: readonly RequestMessage[]
}

/**
 * Like `replay`, but groups the request messages by message of the log. With `replay: "full"`, `messages` may be a
 * section of the log: the section's last message may be replayed differently, but all others are replayed as in the
 * whole log. The section must begin with a user or assistant message, and `currentFrom` must say where the current turn
 * begins.
 */
export function replayEach(
  messages: readonly Message[],
  options: ReplayOptions & { readonly currentFrom?: string },
): Replayed[] {
  const ids = new Set<string>()
  return replayPlainly(messages, options).map(({ message, sent }) => ({
    message,
    sent: toForm(message, withRepeatedIds(sent, message.id, ids), options),
  }))
}

/**
 * Marks each call that has the id of an earlier call. `ids`: the ids of all earlier calls. The function adds the ids of the new
 * calls to `ids`.
 */
function withRepeatedIds(
  sent: readonly RequestMessage[],
  message: string,
  ids: Set<string>,
): readonly RequestMessage[] {
  return sent.map((one) => {
    if (one.role !== 'assistant' || !one.parts.some(({ type }) => type === 'tool_call')) return one
    const parts = one.parts.map((part) => {
      if (part.type !== 'tool_call') return part
      const isRepeated = ids.has(part.id)
      ids.add(part.id)
      return isRepeated ? { ...part, repeatedIn: message } : part
    })
    return { ...one, parts }
  })
}

/** Replays each message without adapting it to a model. */
function replayPlainly(
  messages: readonly Message[],
  options: ReplayOptions & { readonly currentFrom?: string },
): Replayed[] {
  const { currentRun, currentFrom, mediaFrom } = options
  const leader = messages.filter(isLeaders)
  const results = resultsByAssistant(leader)
  const recorded = recordedNumbers(leader)
  const numberOf = (id: string): number | undefined => recorded.get(id) ?? options.numbers?.get(id)
  const turns = groupTurns(leader, options.context?.cut)
  const current = turns.findLast((turn) => turn.some((message) => message.runId === currentRun)) ?? turns.at(-1)
  return turns.flatMap((turn, index) =>
    turn.map((message, place): Replayed => {
      const isCurrent = currentFrom === undefined ? turn === current : message.id >= currentFrom
      const withMedia = (id: string): boolean => isCurrent || (mediaFrom !== undefined && id >= mediaFrom)
      if (message.role === 'user') return { message, sent: [userRequest(message, withMedia(message.id))] }
      if (!isCurrent && options.replay === 'conversation')
        return { message, sent: place === turn.length - 1 ? finalText(message) : [] }
      const following = turn[place + 1] ?? turns[index + 1]?.[0]
      const note = cutOffNote(message, following, currentRun)
      const sourced: Sourced = { numberOf, left: isCurrent ? [] : (options.context?.citations?.left ?? []) }
      return { message, sent: [...round(message, results.get(message.id), withMedia, sourced), ...note] }
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

/** Returns an assistant message, followed by one result per call in sequence order (promises R1, R2). */
function round(
  message: AssistantMessage,
  results: ReadonlyMap<number, ToolMessage> | undefined,
  withMedia: (id: string) => boolean,
  sourced: Sourced,
): RequestMessage[] {
  const rows = message.toolCalls.map((call, sequence) => {
    const row = results?.get(sequence)
    return row?.toolCallId === call.id ? row : undefined
  })
  if (message.toolCalls.length === 0) return hasFailed(message) ? textOnly(message) : completion(message)
  if (!rows.some((row) => row !== undefined && isResult(row))) return textOnly(message)
  const sent = message.toolCalls.map((call, sequence) =>
    sequence < MAX_ROUND_CALLS || rows[sequence] !== undefined
      ? resultWithSources(
          toolResult(call, rows[sequence], withMedia(rows[sequence]?.id ?? '')),
          rows[sequence],
          sourced,
        )
      : notExecuted(call),
  )
  return [withCalls(message), ...sent]
}

interface Sourced {
  /** Returns the number of a result's first source. */
  numberOf(id: string): number | undefined
  /** The numbers of the omitted sources. */
  readonly left: NumberRanges
}

function resultWithSources(
  result: Extract<RequestMessage, { role: 'tool' }>,
  row: ToolMessage | undefined,
  { numberOf, left }: Sourced,
): RequestMessage {
  const from = row !== undefined && hasSources(row) ? numberOf(row.id) : undefined
  if (row?.sources === undefined || from === undefined) return result
  return { ...result, parts: withSources(result.parts, row.sources, from, left) }
}

const hasFailed = (message: AssistantMessage): boolean => message.parts.some((part) => part.type === 'error')

function hasText(parts: AssistantRequest['parts']): boolean {
  return parts.some((part) => part.type === 'text' && part.text !== '')
}

/** Returns a completion without calls; nothing if it has no text. */
function completion(message: AssistantMessage): AssistantRequest[] {
  const parts = message.parts.flatMap((part) => (part.type === 'text' || part.type === 'reasoning' ? [part] : []))
  return hasText(parts) ? [{ role: 'assistant', parts }] : []
}

/** Returns only the text. Providers reject reasoning without the call or the text that followed it. */
function textOnly(message: AssistantMessage): AssistantRequest[] {
  const parts = message.parts.flatMap((part): RequestText[] => (part.type === 'text' ? [part] : []))
  return hasText(parts) ? [{ role: 'assistant', parts }] : []
}

/** Returns the part of an earlier run's last message that `replay: "conversation"` keeps. */
function finalText(message: AssistantMessage): AssistantRequest[] {
  return message.toolCalls.length > 0 || hasFailed(message) ? textOnly(message) : completion(message)
}

/** Inserts the calls: the n-th call replaces the n-th placeholder. Calls without a placeholder follow at the end. */
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
  const continues = following === undefined ? message.runId !== currentRun : following.role === 'assistant'
  return continues ? [{ role: 'user', parts: [{ type: 'text', text: CUT_OFF_NOTE }] }] : []
}
