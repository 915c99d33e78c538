import { supersededBy } from '../../../domain/runs/replacement.ts'
import type { z } from '@hono/zod-openapi'
import type {
  ApprovalDecision,
  AssistantMessage,
  MediaPart,
  Message,
  Output,
  ParentNames,
  Part,
  ToolMessage,
  ToolStatus,
  UserMessage,
} from '../../../domain/messages/message.ts'
import { pointerTo } from '../../../domain/messages/message.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { MessageSchema, toolStatus } from './schema.ts'
import { citedOf, readSourceState } from '../sources/resource.ts'
import type { SourceState } from '../sources/resource.ts'
import type { SessionKey } from '../../../domain/session.ts'
import type { LogReader } from '../../../ports/log-reader.ts'
import { timeText } from '../time-text.ts'
import { findArguments } from './call-arguments.ts'
import { usageResource } from '../usage/resource.ts'

export type MessageResource = z.input<typeof MessageSchema>
type PartResource = MessageResource['parts'][number]

/** Data that the API shows with a message, but that other rows contain. */
export interface KnownOfMessage {
  /** For a tool message: the raw arguments of its call. */
  readonly arguments?: string | undefined
  readonly sources?: SourceState | undefined
  readonly supersededBy?: string | undefined
}

/**
 * A message as the API shows it, without notes, provider metadata and the loop's own fields. `known`: data from other
 * rows. Without `known.sources`, the message's sources have no numbers.
 */
export function messageResource(session: string, message: Message, known: KnownOfMessage = {}): MessageResource {
  return {
    object: 'message',
    id: message.id,
    session_id: session,
    run_id: message.runId,
    agent: message.agent,
    ...parentFields(message),
    role: message.role,
    round: message.round,
    created_at: timeText(message.createdAt),
    ...definedFields({
      superseded_by: known.supersededBy,
      recorded_at: message.recordedAt === undefined ? undefined : timeText(message.recordedAt),
    }),
    parts: message.parts.flatMap((part) => partResource(outputUrl(session, message.id), part)),
    ...fieldsOfRole(session, message, known),
  }
}

/**
 * Creates a function that shows messages with the arguments of calls and the current state of sources. Each message is
 * converted on demand.
 */
export async function messageMaker(
  reader: LogReader,
  key: SessionKey,
  messages: readonly Message[],
): Promise<(message: Message) => Promise<MessageResource>> {
  const [sources, replacements] = await Promise.all([
    readSourceState(reader, key, messages),
    messages.length === 0 ? [] : reader.replacements(key),
  ])
  const argumentsOf = findArguments(reader, key, messages)
  return async (message) => {
    const text = message.role === 'tool' ? await argumentsOf(message) : undefined
    return messageResource(key.session, message, {
      arguments: text,
      sources,
      supersededBy: supersededBy(replacements, message.runId),
    })
  }
}

/** The delegate call that a team member's message or event belongs to. */
export const parentFields = ({ parentToolCallId, parentMessageId }: ParentNames) =>
  definedFields({ parent_tool_call_id: parentToolCallId, parent_message_id: parentMessageId })

/** The address of a message's full content. */
const outputUrl = (session: string, messageId: string): string => `/v1/sessions/${session}/messages/${messageId}/output`

const urlOfPart = (url: string, part: string): string => `${url}?part=${encodeURIComponent(part)}`

/** The address of the bytes of an image or file in a message. */
export const partUrl = (session: string, messageId: string, part: string): string =>
  urlOfPart(outputUrl(session, messageId), part)

/** The status `approved` is internal: users see an approved call as running. */
export const statusResource = (status: ToolStatus): z.input<typeof toolStatus> =>
  status === 'approved' ? 'running' : status

function fieldsOfRole(session: string, message: Message, known: KnownOfMessage): Partial<MessageResource> {
  switch (message.role) {
    case 'user':
      return userFields(message)
    case 'assistant':
      return assistantFields(message)
    case 'tool':
      return { ...toolFields(session, message, known.arguments), ...sourcesOf(message, known.sources) }
  }
}

const userFields = ({ user, metadata }: UserMessage): Partial<MessageResource> => definedFields({ user, metadata })

function assistantFields(message: AssistantMessage): Partial<MessageResource> {
  const calls = message.toolCalls.map(({ id, name, arguments: text }) => ({ id, name, arguments: text }))
  return definedFields({
    tool_calls: calls.length === 0 ? undefined : calls,
    model: message.model,
    finish_reason: message.finishReason,
    usage: message.usage === undefined ? undefined : usageResource(message.usage),
    feedback: message.feedback?.map(({ rating, user, at }) => ({ rating, user, at: timeText(at) })),
  })
}

function toolFields(session: string, message: ToolMessage, callArguments?: string): Partial<MessageResource> {
  return definedFields({
    tool_call_id: message.toolCallId,
    tool_name: message.toolName,
    assistant_message_id: message.assistantMessageId,
    call: message.call,
    arguments: callArguments,
    sequence: message.sequence,
    status: statusResource(message.status),
    origin: message.origin,
    namespace: message.namespace,
    decision: message.decision === undefined ? undefined : decisionResource(message.decision),
    completed_at: message.completedAt === undefined ? undefined : timeText(message.completedAt),
    duration_ms: message.durationMs,
    output: message.output === undefined ? undefined : outputResource(session, message.id, message.output),
  })
}

const decisionResource = ({ approved, by, at }: ApprovalDecision): MessageResource['decision'] => ({
  approved,
  ...definedFields({ by }),
  at: timeText(at),
})

/** Returns the sources of a result. Sources have no numbers until a request is first built with them. */
function sourcesOf(message: ToolMessage, state: SourceState | undefined): Pick<MessageResource, 'sources'> {
  if (message.sources === undefined || message.sources.length === 0) return {}
  const from = state?.numbers.get(message.id)
  const sources = message.sources.map(({ title, url }, place) => {
    const number = from === undefined ? undefined : from + place
    const cited = number === undefined ? null : citedOf(state?.citations, number)
    return { ...definedFields({ number }), title, ...definedFields({ url }), cited }
  })
  return { sources }
}

function outputResource(session: string, messageId: string, output: Output): MessageResource['output'] {
  return {
    pointer: pointerTo(messageId),
    bytes: output.bytes,
    lines: output.lines,
    sha256: output.sha256,
    media_type: output.mediaType,
    offloaded: output.object !== undefined,
    url: outputUrl(session, messageId),
  }
}

/** The fields that describe an image or a file. */
export const mediaFields = ({ type, id, mediaType, filename, bytes }: MediaPart) => ({
  type,
  id,
  media_type: mediaType,
  ...definedFields({ filename }),
  bytes,
})

function partResource(url: string, part: Part): PartResource[] {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return [{ type: part.type, text: part.text }]
    case 'tool_call':
      return [{ type: 'tool_call', id: part.id }]
    case 'image':
    case 'file':
      return [{ ...mediaFields(part), url: urlOfPart(url, part.id) }]
    case 'data':
      return [{ type: 'data', data: part.data }]
    case 'note':
      return []
    case 'error':
      return [{ type: 'error', code: part.code, text: part.text }]
  }
}
