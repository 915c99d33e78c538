import { definedFields } from '../domain/defined-fields.ts'
import type { MediaPart, ToolMessage, ToolPart } from '../domain/messages/message.ts'
import { MAX_ROUND_CALLS, STATUS_TEXT } from '../domain/messages/message.ts'
import type { RequestMedia, RequestMessage, RequestText } from '../domain/model-request.ts'

type ToolResult = Extract<RequestMessage, { role: 'tool' }>

/** Whether the call has ended, so that its status is a result for the model. */
export const isResult = (message: ToolMessage): boolean =>
  message.status !== 'running' && message.status !== 'waiting' && message.status !== 'approved'

/**
 * Returns a call's result for the model: the result's content, or the text of its status. A call without a result counts as
 * interrupted. If `withMedia` is false, a note replaces media.
 */
export function toolResult(
  call: { readonly id: string; readonly name: string },
  message: ToolMessage | undefined,
  withMedia: boolean,
): ToolResult {
  const status = message !== undefined && isResult(message) ? message.status : 'interrupted'
  const own = message !== undefined && isResult(message) ? requestParts(message.parts, withMedia) : []
  const parts = own.length > 0 ? own : [{ type: 'text' as const, text: statusText(status) }]
  return { role: 'tool', toolCallId: call.id, toolName: call.name, isError: status !== 'completed', parts }
}

/** Returns the result that a model gets for a call beyond the maximum number of calls per round. */
export function notExecuted(call: { readonly id: string; readonly name: string }): ToolResult {
  const text = `error: not executed: of one round's calls, the first ${MAX_ROUND_CALLS} are`
  return { role: 'tool', toolCallId: call.id, toolName: call.name, isError: true, parts: [{ type: 'text', text }] }
}

function statusText(status: ToolMessage['status']): string {
  return status === 'interrupted' || status === 'cancelled' || status === 'denied' ? STATUS_TEXT[status] : ''
}

/** Converts the parts of an input or a result for a request. If `withMedia` is false, a note replaces media. */
export function requestParts(parts: readonly ToolPart[], withMedia: boolean): readonly (RequestText | RequestMedia)[] {
  if (parts.every((part) => part.type === 'text')) return parts
  const noted = parts.some((part) => part.type === 'note')
  return parts.flatMap((part): (RequestText | RequestMedia)[] => {
    if (part.type === 'text') return [part]
    if (part.type === 'data') return []
    if (part.type === 'note') return withMedia ? [] : [{ type: 'text', text: part.text }]
    if (withMedia) return [requestMedia(part)]
    return noted ? [] : [{ type: 'text', text: goneText(part) }]
  })
}

/** Converts a stored media part for a request. Its bytes are added just before sending. */
function requestMedia(part: MediaPart): RequestMedia {
  return {
    type: part.type,
    id: part.id,
    mediaType: part.mediaType,
    ...definedFields({ filename: part.filename }),
  }
}

/** Returns the text that replaces media that are gone, or that were stored without a note. */
export function goneText(part: Pick<MediaPart, 'type' | 'mediaType' | 'filename'>): string {
  return `[${part.filename ?? part.type} (${part.mediaType}) is no longer available to view]`
}
