import type { ToolMessage } from '../../domain/messages/message.ts'
import type { Run } from '../../domain/runs/run.ts'
import type { SessionKey } from '../../domain/session.ts'
import type { LogReader } from '../../ports/log-reader.ts'

/** The part of a run that a client has seen. */
interface Seen {
  /** The last message that the client has seen. */
  readonly after: string
  /**
   * Calls whose end the client has not seen: the calls that waited. For a waiting call of a member, the delegate call
   * that the member works for is included.
   */
  readonly open: readonly ToolMessage[]
}

/**
 * Finds the part of a run that a client has seen when it answers these calls. That part ends with the pause in which
 * the calls waited. Undefined if the calls never waited.
 */
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
