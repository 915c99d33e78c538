import { OPEN_STATUSES } from '../../domain/messages/message.ts'
import type { Message, ToolMessage } from '../../domain/messages/message.ts'
import { createRecent } from '../../domain/cache/lru-cache.ts'
import type { Recent } from '../../domain/cache/lru-cache.ts'
import type { SessionKey } from '../../domain/session.ts'
import { messageLength } from '../../log/message-length.ts'
import type { EventPosition } from '../../domain/runs/event-position.ts'
import type { LogReader } from '../../ports/log-reader.ts'
import { nameOf } from './event-bus.ts'

const PAGE = 200
const PAGE_CHARACTERS = 1_000_000
/** Characters of messages that all followers of a process share. */
const SHARED_CHARACTERS = 16_000_000
/** Characters that a message costs beside its contents, about. */
const OVERHEAD = 500

/** The message that follows another in its run's log, by session, run and the other's id. */
const shared = new WeakMap<LogReader, Recent<Message>>()

/** Whether nothing of a message changes any more. */
const isFinal = (message: Message): boolean => message.role !== 'tool' || !OPEN_STATUSES.includes(message.status)

/**
 * A run's messages after `after`, in order, as of the time of asking or later. Readers share those that are final; one that takes
 * its time holds none but its own open calls, and reads the log again when others have pushed out what it needs next. `kept`: the
 * reader whose readers share, where `reader` is one of them.
 */
export async function* runMessages(
  reader: LogReader,
  key: SessionKey,
  run: string,
  after: string | undefined,
  kept: LogReader = reader,
): AsyncGenerator<Message, void, undefined> {
  const recent = shared.get(kept) ?? createRecent<Message>(SHARED_CHARACTERS)
  shared.set(kept, recent)
  const open = new Map<string, Message>()
  const name = (before: string | undefined): string => `${nameOf(key)}/${run}/${before ?? ''}`
  let last = after
  let end: { readonly id: string | undefined } | undefined
  for (;;) {
    const known = recent.get(name(last)) ?? open.get(name(last))
    const next = known ?? (end !== undefined && end.id === last ? undefined : await read())
    if (next === undefined) return
    last = next.id
    yield next
  }

  /** The next message; it and what follows on its page are kept. */
  async function read(): Promise<Message | undefined> {
    const query = { order: 'ascending', limit: PAGE, mostCharacters: PAGE_CHARACTERS, run } as const
    const { messages, more } = await reader.messages(key, last === undefined ? query : { ...query, after: last })
    let before = last
    for (const message of messages) {
      if (isFinal(message)) recent.set(name(before), message, messageLength(message) + OVERHEAD)
      else open.set(name(before), message)
      before = message.id
    }
    if (!more) end = { id: before }
    return messages[0]
  }
}

/** Where to read on from: after the last message of which, and of all before it, every event has been shown. */
export interface Place {
  readonly after: string | undefined
  /** How many of the run's notices come before. */
  readonly notices: number
  /** The position of the event before. */
  readonly position: EventPosition | undefined
  /** Calls that were found to wait for somebody else. */
  readonly waiting: readonly ToolMessage[]
  /** Begins to read on. */
  begin(): void
  /** Takes note of a message that was read, and of what has been shown with it. */
  pass(message: Message, shown: Shown): void
}

/** How far the messages were shown. */
interface Shown {
  readonly isSettled: boolean
  readonly shown: number
  readonly position: EventPosition | undefined
}

/** A place behind this message and this number of notices; without a message, the beginning. */
export function createPlace(after: string | undefined, notices: number): Place {
  let passed: Pick<Place, 'after' | 'notices' | 'position'> = { after, notices, position: undefined }
  let waiting: ToolMessage[] = []
  return {
    get after() {
      return passed.after
    },
    get notices() {
      return passed.notices
    },
    get position() {
      return passed.position
    },
    get waiting() {
      return waiting
    },
    begin() {
      waiting = []
    },
    pass(message, { isSettled, shown, position }) {
      if (message.role === 'tool' && message.status === 'waiting') waiting.push(message)
      if (isSettled) passed = { after: message.id, notices: shown, position }
    },
  }
}
