import type { FileMessage } from '../../log/session-files/transcript.ts'
import { countStored } from './counted-messages.ts'
import type { FileSession } from './sessions-of-file.ts'

/**
 * The metadata field that names the parser of a session. Its value is `2`, or `2 after 57` if parser 1 stored the first
 * 57 messages.
 */
export const PARSER = 'parser'
const NEWEST = '2'

/** The value of `metadata.parser` after an earlier parser has stored the session's first `messages` messages. */
export const parserAfter = (messages: number): string => (messages === 0 ? NEWEST : `${NEWEST} after ${messages}`)

/**
 * Returns how many of a session's first messages an earlier parser stored; undefined if the session's metadata do not
 * contain the number.
 */
export function storedEarlier(parser: unknown): number | undefined {
  if (parser === NEWEST) return 0
  const [, count] = typeof parser === 'string' ? (/^2 after (\d{1,9})$/u.exec(parser) ?? []) : []
  return count === undefined ? undefined : Number(count)
}

/** A file's conversation, of which an earlier parser has stored the first messages. */
export interface Continued {
  /**
   * The messages that were stored, followed by the messages that the newest parser reads. Positions are counted over
   * both.
   */
  readonly session: FileSession
  /** Inputs that the earlier parser dropped. In the file, they are among the stored messages. */
  readonly dropped: readonly FileMessage[]
}

/**
 * Continues a session of which an earlier parser has stored the first `stored` messages. These messages stay unchanged,
 * and nothing is inserted between them. A message equals a stored one if line, role and call are equal.
 */
export function continueEarlier(session: FileSession, stored: number): Continued {
  if (session.earlier === undefined || stored === 0) return { session, dropped: [] }
  const kept = session.earlier().messages.filter(({ place }) => place < stored)
  const known = new Set(kept.map(keyOf))
  const end = session.messages.findLastIndex((message) => known.has(keyOf(message))) + 1
  const dropped = session.messages
    .slice(0, end)
    .filter((message) => message.beginsTurn && !known.has(keyOf(message)))
    .map(({ line, value }) => ({ line, value: { ...value, run_id: 'dropped', metadata: { dropped_by_parser: '1' } } }))
  const { messages, stored: count } = countStored(session, [...kept, ...session.messages.slice(end)])
  return { session: { ...session, messages, stored: count }, dropped }
}

const keyOf = ({ line, value }: FileMessage): string =>
  JSON.stringify([line, value['role'], value['tool_call_id'], value['parent_tool_call_id']])
