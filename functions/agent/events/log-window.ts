import type { Message } from '../../domain/messages/message.ts'
import type { SessionKey } from '../../domain/session.ts'
import { totalLength } from '../../log/message-length.ts'
import type { LogReader } from '../../ports/log-reader.ts'

/** The part of a log around a message. */
export interface LogWindow {
  /** Earlier messages, newest first. */
  readonly older: readonly Message[]
  /** The message itself and later messages, oldest first. */
  readonly newer: readonly Message[]
  readonly hasOlder: boolean
  readonly hasNewer: boolean
}

interface Size {
  readonly limit: number
  /** Limit of the content's characters. The window always contains the message itself. */
  readonly maxCharacters: number
}

/**
 * Reads `limit` messages around one message: half of them before it, the other half starting with it. If one side has too few
 * messages, reads more on the other side. Returns undefined if the session has no such message.
 */
export async function readAround(
  reader: LogReader,
  key: SessionKey,
  around: string,
  { limit, maxCharacters }: Size,
): Promise<LogWindow | undefined> {
  const rising = { order: 'ascending', after: justBefore(around), limit: Math.ceil(limit / 2) } as const
  const from = await reader.messages(key, { ...rising, mostCharacters: maxCharacters / 2 })
  if (from.messages[0]?.id !== around) return undefined
  const wanted = from.more ? Math.floor(limit / 2) : limit - from.messages.length
  // At least one message is read, to find out whether older messages exist.
  const falling = { order: 'descending', before: around, limit: Math.max(1, wanted) } as const
  const left = maxCharacters - totalLength(from.messages)
  const before = await reader.messages(key, { ...falling, mostCharacters: Math.max(0, left) })
  const older = before.messages.slice(0, wanted)
  const window = { older, hasOlder: before.more || older.length < before.messages.length }
  const missing = limit - older.length - from.messages.length
  const last = from.messages.at(-1)
  const isFilled = window.hasOlder || !from.more || missing === 0 || left <= totalLength(older)
  if (isFilled || last === undefined) return { ...window, newer: from.messages, hasNewer: from.more }
  const further = { order: 'ascending', after: last.id, limit: missing } as const
  const rest = await reader.messages(key, { ...further, mostCharacters: left - totalLength(older) })
  return { ...window, newer: [...from.messages, ...rest.messages], hasNewer: rest.more }
}

/** Returns a string that sorts directly before an id: greater than all smaller ids. */
const justBefore = (id: string): string => `${id.slice(0, -1)}${String.fromCharCode(id.charCodeAt(id.length - 1) - 1)}~`
