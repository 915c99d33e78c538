import type { AssistantMessage, Message, ToolCall, ToolMessage } from '../../../domain/messages/message.ts'
import { createRecent } from '../../../domain/cache/lru-cache.ts'
import type { Recent } from '../../../domain/cache/lru-cache.ts'
import type { SessionKey } from '../../../domain/session.ts'
import type { LogReader } from '../../../ports/log-reader.ts'

/** Limit of the cached arguments, in characters. All users of the same log reader share the cache. */
const SHARED_CHARACTERS = 4_000_000
/** Estimated memory of a message's calls besides their arguments, in characters. */
const OVERHEAD = 500

const shared = new WeakMap<LogReader, Recent<readonly ToolCall[]>>()

/**
 * Finds the raw arguments of calls, as their model sent them. The rows of calls do not contain these arguments.
 * `known`: messages that were already read. Other messages are read from the log.
 */
export function findArguments(
  reader: LogReader,
  key: SessionKey,
  known: readonly Message[] = [],
): (call: ToolMessage) => Promise<string> {
  const recent = shared.get(reader) ?? createRecent<readonly ToolCall[]>(SHARED_CHARACTERS)
  shared.set(reader, recent)
  const askers = new Map(known.flatMap((one) => (one.role === 'assistant' ? [[one.id, one.toolCalls] as const] : [])))
  const nameOf = (id: string): string => `${key.tenant}/${key.session}/${id}`
  return async ({ assistantMessageId: id, sequence }) => {
    const calls = askers.get(id) ?? recent.get(nameOf(id)) ?? keep(await reader.message(key, id))
    return calls[sequence]?.arguments ?? ''
  }

  function keep(asker: Message | undefined): readonly ToolCall[] {
    if (asker?.role !== 'assistant') return []
    recent.set(nameOf(asker.id), asker.toolCalls, lengthOf(asker))
    return asker.toolCalls
  }
}

const lengthOf = ({ toolCalls }: AssistantMessage): number =>
  toolCalls.reduce((sum, call) => sum + call.arguments.length, OVERHEAD)
