import { RequestError } from '../../middleware/request-error.ts'
import type { ChatInput } from '../chat/chat-request.ts'
import type { InputItem } from '../responses/response-schemas.ts'

/** Rejects references, because the log cannot contain an item twice. */
export function refuseReferences(items: readonly InputItem[]): void {
  for (const [index, item] of items.entries())
    if (item.type === 'item_reference')
      throw notSupported(`items[${index}]`, 'is a reference: send the item itself, because each item is stored once')
}

/** Rejects instructions, because they are a setting of the session. */
export function refuseInstructions(items: readonly InputItem[]): void {
  for (const [index, item] of items.entries())
    if (item.type === 'message' && (item.role === 'system' || item.role === 'developer'))
      throw notSupported(`items[${index}]`, `is of the role ${item.role}: send instructions with a Response`)
}

/**
 * Rejects calls without outputs, and outputs without calls. A stored call never changes, so an output cannot be added to
 * it later.
 */
export function requireClosedCalls(history: ChatInput['history']): void {
  /** The path of each open call of the last assistant message, by call id. */
  let open = new Map<string, string>()
  for (const { message, at } of history) {
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id))
        throw notSupported(at, 'is an output without its call before it: send both in one request, or send a Response')
      continue
    }
    refuseOpen(open)
    const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : []
    open = new Map(calls.map(({ id }) => [id, at]))
  }
  refuseOpen(open)
}

function refuseOpen(open: ReadonlyMap<string, string>): void {
  const [call] = open
  if (call === undefined) return
  const [id, at] = call
  throw notSupported(at, `has no output for the call ${id.slice(0, 128)}: a call is stored together with its output`)
}

/** The error for a change that the log of a session does not allow. `path`: the field of the body. */
function notSupported(path: string, message: string): RequestError {
  const errors = [{ path: `body.${path}`, message }]
  return new RequestError(422, 'not_supported', `${path} ${message}`, { errors })
}
