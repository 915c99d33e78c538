import type { Message } from '../../functions/client/api-types.ts'

/**
 * The ids of the delegate calls' messages that members' messages of this part of a log belong to, by the members' ids. What older
 * versions imported or forked names the call by its id alone: of the calls of its run with this id the last one before it is
 * meant, or else the first one after it.
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
  /** By run and call: the delegate call that was met last. */
  const met = new Map<string, Message>()
  for (const message of messages) {
    const { id, run_id: run, parent_message_id: row, parent_tool_call_id: call } = message
    const found = call === undefined ? undefined : met.get(`${run} ${call}`)
    // A member's own call may have the id of the call that it works for.
    const isOwn = found?.parent_tool_call_id === call
    if (row === undefined && found !== undefined && !isOwn && !parents.has(id)) parents.set(id, found.id)
    if (message.role === 'tool' && message.tool_call_id !== call)
      met.set(`${run} ${message.tool_call_id ?? ''}`, message)
  }
}
