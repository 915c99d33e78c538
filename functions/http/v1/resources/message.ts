import type { z } from '@hono/zod-openapi'
import type {
  AssistantMessage,
  Message,
  Output,
  Part,
  ToolMessage,
  ToolStatus,
  UserMessage,
} from '../../../domain/message.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { MessageSchema, toolStatus } from '../schemas/message.ts'
import { timeText } from '../time-text.ts'
import { usageResource } from './usage.ts'

export type MessageResource = z.input<typeof MessageSchema>
type PartResource = MessageResource['parts'][number]

/** A message as the API shows it: without notes, what providers attached, and what only the loop needs. */
export function messageResource(session: string, message: Message): MessageResource {
  return {
    object: 'message',
    id: message.id,
    session_id: session,
    run_id: message.runId,
    agent: message.agent,
    ...definedFields({ parent_tool_call_id: message.parentToolCallId }),
    role: message.role,
    round: message.round,
    created_at: timeText(message.createdAt),
    parts: message.parts.flatMap((part) => partResource(outputUrl(session, message.id), part)),
    ...fieldsOfRole(session, message),
  }
}

/** Where the whole content of a message is to be had. */
const outputUrl = (session: string, messageId: string): string => `/v1/sessions/${session}/messages/${messageId}/output`

/** `approved` is ours alone: to its users such a call runs. */
export const statusResource = (status: ToolStatus): z.input<typeof toolStatus> =>
  status === 'approved' ? 'running' : status

function fieldsOfRole(session: string, message: Message): Partial<MessageResource> {
  switch (message.role) {
    case 'user':
      return userFields(message)
    case 'assistant':
      return assistantFields(message)
    case 'tool':
      return toolFields(session, message)
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
  })
}

function toolFields(session: string, message: ToolMessage): Partial<MessageResource> {
  return definedFields({
    tool_call_id: message.toolCallId,
    tool_name: message.toolName,
    assistant_message_id: message.assistantMessageId,
    call: message.call,
    sequence: message.sequence,
    status: statusResource(message.status),
    completed_at: message.completedAt === undefined ? undefined : timeText(message.completedAt),
    duration_ms: message.durationMs,
    output: message.output === undefined ? undefined : outputResource(session, message.id, message.output),
  })
}

function outputResource(session: string, messageId: string, output: Output): MessageResource['output'] {
  return {
    pointer: `output:${messageId}`,
    bytes: output.bytes,
    lines: output.lines,
    sha256: output.sha256,
    media_type: output.mediaType,
    offloaded: output.object !== undefined,
    url: outputUrl(session, messageId),
  }
}

function partResource(url: string, part: Part): PartResource[] {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return [{ type: part.type, text: part.text }]
    case 'tool_call':
      return [{ type: 'tool_call', id: part.id }]
    case 'image':
    case 'file':
      return [
        {
          type: part.type,
          id: part.id,
          media_type: part.mediaType,
          ...definedFields({ filename: part.filename }),
          bytes: part.bytes,
          url: `${url}?part=${encodeURIComponent(part.id)}`,
        },
      ]
    case 'note':
      return []
    case 'error':
      return [{ type: 'error', code: part.code, text: part.text }]
  }
}
