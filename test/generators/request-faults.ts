import type { RequestMessage } from '../../functions/domain/model-request.ts'

/** Faults of a request's messages that every provider refuses (promises R1). */
export function requestFaults(request: readonly RequestMessage[]): string[] {
  const found: string[] = []
  for (const [index, message] of request.entries()) {
    if (message.role === 'tool') {
      if (request[index - 1]?.role === 'user' || index === 0) found.push(`${index}: a result without a round`)
      continue
    }
    if (message.parts.length === 0) found.push(`${index}: no content`)
    if (message.role === 'user') continue
    const calls = message.parts.filter((part) => part.type === 'tool_call')
    const following = request.slice(index + 1)
    const end = following.findIndex((next) => next.role !== 'tool')
    const results = following.slice(0, end === -1 ? undefined : end)
    const ids = (of: readonly unknown[]): string => JSON.stringify(of)
    const withResults = results.map((result) => (result.role === 'tool' ? [result.toolCallId, result.toolName] : []))
    if (ids(calls.map((call) => [call.id, call.name])) !== ids(withResults))
      found.push(`${index}: calls and results differ`)
    if (calls.length === 0 && !message.parts.some((part) => part.type === 'text' && part.text !== '')) {
      found.push(`${index}: an empty completion`)
    }
  }
  return found
}
