import type { Message } from '../../functions/client/api-types.ts'
import { parentsOf } from './parents.ts'

/**
 * A message of the log as the page shows it. A completion contains its calls, and each call contains its members' work.
 */
export interface Entry {
  readonly message: Message
  readonly calls: readonly CallEntry[]
}
export interface CallEntry {
  readonly message: Message
  /** The call's arguments as the model sent them. Undefined if the completion is not loaded. */
  readonly input: string | undefined
  readonly members: readonly Entry[]
}

/**
 * Returns the entries of a part of a log, in order. A call whose completion is not loaded is a separate entry. A
 * member's work is nested in the delegate call. The id of the call's message identifies the call, because call ids may
 * repeat, even within a run.
 */
export function entriesOf(messages: readonly Message[]): readonly Entry[] {
  const members = new Map<string, Message[]>()
  const parents = parentsOf(messages)
  const leaders = messages.filter((message) => {
    const parent = parents.get(message.id)
    if (parent === undefined) return true
    members.set(parent, [...(members.get(parent) ?? []), message])
    return false
  })
  return nested(leaders, members)
}

function nested(messages: readonly Message[], members: ReadonlyMap<string, readonly Message[]>): readonly Entry[] {
  const entries = new Map<string, { message: Message; calls: CallEntry[] }>()
  for (const message of messages) {
    const holder = message.role === 'tool' ? entries.get(message.assistant_message_id ?? '') : undefined
    if (holder === undefined) {
      const calls = message.role === 'tool' ? [callOf(message, undefined, members)] : []
      entries.set(message.id, { message, calls })
    } else holder.calls.push(callOf(message, holder.message, members))
  }
  return [...entries.values()]
}

const callOf = (
  message: Message,
  completion: Message | undefined,
  members: ReadonlyMap<string, readonly Message[]>,
): CallEntry => ({
  message,
  input: completion?.tool_calls?.find(({ id }) => id === message.tool_call_id)?.arguments,
  members: nested(members.get(message.id) ?? [], members),
})

/** Returns the id of the entry that shows a message: its own entry, or the entry of its completion. */
export function holderOf(entries: readonly Entry[], id: string): string | undefined {
  const holds = (entry: Entry): boolean =>
    entry.message.id === id || entry.calls.some((call) => call.message.id === id || call.members.some(holds))
  return entries.find(holds)?.message.id
}
