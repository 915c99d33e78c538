import type { ModelRequest } from '../../domain/model-request.ts'

/** Returns the raw arguments of a request's calls, in the order in which they are sent. */
export function argumentsOf(request: ModelRequest): string[] {
  return request.messages.flatMap((message) =>
    message.role === 'assistant'
      ? message.parts.flatMap((part) => (part.type === 'tool_call' ? [part.arguments] : []))
      : [],
  )
}

/** Sets the `arguments` of the n-th call to the n-th raw string. Calls are the items of type `type`. */
export function withRawArguments(items: readonly unknown[], type: string, raw: readonly string[]): unknown[] {
  let count = 0
  const patched = items.map((item) => {
    if (!isRecord(item) || item['type'] !== type) return item
    return { ...item, arguments: raw[count++] }
  })
  checkCount(count, raw)
  return patched
}

/** Sets the raw arguments in the tool calls of Chat Completions messages. */
export function withRawToolCalls(messages: unknown, raw: readonly string[]): unknown {
  if (!Array.isArray(messages)) return messages
  let count = 0
  const patched = messages.map((message: unknown) => {
    const calls = isRecord(message) ? message['tool_calls'] : undefined
    if (!isRecord(message) || !Array.isArray(calls)) return message
    const toolCalls = calls.map((call: unknown) => {
      const named = isRecord(call) && isRecord(call['function']) ? call['function'] : {}
      return { ...(isRecord(call) ? call : {}), function: { ...named, arguments: raw[count++] } }
    })
    return { ...message, tool_calls: toolCalls }
  })
  checkCount(count, raw)
  return patched
}

/** Throws unless each call has one raw text. A failed request is better than a call with another call's arguments. */
function checkCount(count: number, raw: readonly string[]): void {
  if (count !== raw.length) throw new Error(`the request has ${raw.length} calls, but ${count} would be sent`)
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
