import type { Message } from '../../functions/client/api-types.ts'
import { parentsOf } from './parents.ts'

/** A message of the log as it is shown: a completion with the calls it made, and under each call what a member did for it. */
export interface Entry {
  readonly message: Message
  readonly calls: readonly CallEntry[]
}
export interface CallEntry {
  readonly message: Message
  /** Its arguments as the model sent them, if the completion is known. */
  readonly input: string | undefined
  readonly members: readonly Entry[]
}

/**
 * The entries of a part of a log, in order. A call whose completion is not in it stands alone. What a member did stands below the
 * message of its delegate call: ids of calls may repeat, also within a run.
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

/** The entry that shows a message: its own, or the one whose call it is. */
export function holderOf(entries: readonly Entry[], id: string): string | undefined {
  const holds = (entry: Entry): boolean =>
    entry.message.id === id || entry.calls.some((call) => call.message.id === id || call.members.some(holds))
  return entries.find(holds)?.message.id
}
