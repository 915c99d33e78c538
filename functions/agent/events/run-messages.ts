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
/** Limit of the messages that all followers of a process share, in characters. */
const SHARED_CHARACTERS = 16_000_000
/** Estimated memory of a message besides its contents, in characters. */
const OVERHEAD = 500

/** Shared messages. The key names the session, the run and the id of the previous message. */
const shared = new WeakMap<LogReader, Recent<Message>>()

/** Whether a message can no longer change. */
const isFinal = (message: Message): boolean => message.role !== 'tool' || !OPEN_STATUSES.includes(message.status)

/**
 * Yields a run's messages after `after`, in order. Each message is at least as new as it was in the log when the read
 * began. Final messages are shared between readers. A slow reader holds only its own open calls in memory; it reads the
 * log again if the shared messages that it needs were evicted. `kept`: the process's reader, which all followers have
 * in common. It is the key of the shared messages.
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

  /** Reads the next message. The whole page is kept for later. */
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

/**
 * The place in the log where the next read starts. All events of the message `after` and of earlier messages have been shown.
 */
export interface Place {
  readonly after: string | undefined
  /** Number of the run's notices before this place. */
  readonly notices: number
  /** The position of the last event before this place. */
  readonly position: EventPosition | undefined
  /** Calls that wait for a client's result or an approval. */
  readonly waiting: readonly ToolMessage[]
  /** Resets `waiting` before a new read. */
  begin(): void
  /** Moves the place past a message if all of its events have been shown. */
  pass(message: Message, shown: Shown): void
}

/** The state of the timeline after a message. */
interface Shown {
  readonly isSettled: boolean
  readonly shown: number
  readonly position: EventPosition | undefined
}

/** Creates a place after this message and this number of notices. Without a message, the place is the beginning of the run. */
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
