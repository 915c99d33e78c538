import type { Message } from '../../functions/client/api-types.ts'

/**
 * Maps each member's message in this part of a log to the message of its delegate call, by id. A message of an older
 * import or fork has only the call id. Such a message belongs to the last earlier call with this id in the run. If
 * there is no earlier call, the message belongs to the first later one.
 */
export function parentsOf(messages: readonly Message[]): ReadonlyMap<string, string> {
  const parents = new Map<string, string>()
  const known = new Set(messages.map(({ id }) => id))
  for (const { id, parent_message_id: parent } of messages)
    if (parent !== undefined && known.has(parent)) parents.set(id, parent)
  for (const ordered of [messages, messages.toReversed()]) findByCall(ordered, parents)
  return parents
}

function findByCall(messages: readonly Message[], parents: Map<string, string>): void {
  /** The latest delegate call, by run and call id. */
  const met = new Map<string, Message>()
  for (const message of messages) {
    const { id, run_id: run, parent_message_id: row, parent_tool_call_id: call } = message
    const found = call === undefined ? undefined : met.get(`${run} ${call}`)
    // A member's own call may have the call id of the delegate call for which the member works.
    const isOwn = found?.parent_tool_call_id === call
    if (row === undefined && found !== undefined && !isOwn && !parents.has(id)) parents.set(id, found.id)
    if (message.role === 'tool' && message.tool_call_id !== call)
      met.set(`${run} ${message.tool_call_id ?? ''}`, message)
  }
}
