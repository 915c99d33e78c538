import type { ToolMessage } from '../../domain/messages/message.ts'
import type { Run } from '../../domain/runs/run.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { LogReader } from '../../ports/log-reader.ts'

/** What a client has seen of a run. */
interface Seen {
  /** The last message of it. */
  readonly after: string
  /** Calls whose end it has not seen: those that waited, and the delegate calls of the members that made them. */
  readonly open: readonly ToolMessage[]
}

/** What a client has seen that answers these calls: all up to the pause in which they waited. Undefined if they never did. */
export async function seenBefore(
  reader: LogReader,
  key: SessionKey,
  { notices = [] }: Run,
  answered: ReadonlySet<string>,
): Promise<Seen | undefined> {
  const pause = notices.findLast((one) => one.type === 'run.paused' && one.calls.some((id) => answered.has(id)))
  if (pause?.type !== 'run.paused') return undefined
  const open = new Map<string, ToolMessage>()
  const ids = [...pause.calls]
  for (const id of ids) {
    const call = open.has(id) ? undefined : await reader.message(key, id)
    if (call?.role !== 'tool') continue
    open.set(id, call)
    if (call.parentMessageId !== undefined) ids.push(call.parentMessageId)
  }
  return { after: pause.after, open: [...open.values()] }
}
