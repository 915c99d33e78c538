import { nextId } from '../../../domain/ids.ts'
import type { AssistantPart, ToolCall } from '../../../domain/messages/message.ts'
import type { Completion } from '../../../ports/model.ts'

/**
 * Gives every call of a completion an id that is unique within the batch. Empty, missing and repeated ids are replaced.
 * This is decided here, before anything is stored (promises L2).
 */
export function withUniqueCallIds(completion: Completion, now: number): Pick<Completion, 'parts' | 'toolCalls'> {
  const used = new Set<string>()
  const toolCalls = completion.toolCalls.map((call): ToolCall => {
    const id = call.id === '' || used.has(call.id) ? `call_${nextId(undefined, now)}` : call.id
    used.add(id)
    return { ...call, id }
  })
  let seen = 0
  const parts = completion.parts.map((part): AssistantPart => {
    if (part.type !== 'tool_call') return part
    const call = toolCalls[seen++]
    return call === undefined ? part : { type: 'tool_call', id: call.id }
  })
  return { parts, toolCalls }
}
