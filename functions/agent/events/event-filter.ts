import { eventId } from '../../domain/events.ts'
import type { RunEvent, StoredEvent } from '../../domain/events.ts'
import type { ParentNames } from '../../domain/messages/message.ts'
import { isDelta } from './joined-deltas.ts'

/** Characters of a ULID. Each event id begins with one. */
const ULID = 26

/**
 * Matches the part of an event id after the ULID, if the event concerns the run and not a message. A run has few such events.
 */
const OF_RUN = /^:(?:run|context|warning)/

/** Limits of the event ids and threads kept while a log is read. An imported run may have millions of messages. */
const MAX_IDS = 1_000
const MAX_THREADS = 1_000

/** Separates new events from repeated ones and from stale ones, whose round is already stored. */
export interface EventFilter {
  isNew(event: RunEvent): boolean
  /** Whether the consumer has received this stored event. */
  isKnown(event: StoredEvent): boolean
  /** Whether the consumer has received the start of this round but not its end. */
  isStreaming(round: RoundNames): boolean
  /** Marks all messages up to this one as received. The log is read in order, so none of these messages follows later. */
  pass(message: string): void
  /** Drops the state of all messages up to this one, because the consumer has received them. */
  forget(through: string | undefined): void
}

/** A round of the leader or of a member. */
type RoundNames = ParentNames & { readonly round: number }

/** Creates the filter of a consumer that has received nothing yet. */
export function createEventFilter(): EventFilter {
  const known = new Set<string>()
  let passed = ''
  /** All messages up to this id were received. The members of their delegate calls may still send messages. */
  let emitted = ''
  /** Number of ids that the last cleanup kept: the ids of the run's own events. */
  let kept = 0
  /** The last round of each thread. The key is the row id of the thread's delegate call. */
  const stored = new Map<string, number>()
  const started = new Map<string, number>()
  const threadOf = ({ parentMessageId = '' }: ParentNames): string => parentMessageId
  /** Whether the thread's delegate call and all events of the thread were received. */
  const isOver = (thread: string): boolean => thread !== '' && thread <= passed
  const last = (rounds: ReadonlyMap<string, number>, event: ParentNames): number => rounds.get(threadOf(event)) ?? -1
  const forgetEmitted = (): void => {
    for (const id of known) if (!OF_RUN.test(id.slice(ULID)) && id.slice(0, ULID) <= emitted) known.delete(id)
  }
  const isKnown = (event: StoredEvent): boolean =>
    known.has(event.id) || ('message' in event && event.id.slice(0, ULID) <= emitted)
  return {
    isKnown,
    isStreaming: (event) => event.round > last(stored, event) && event.round <= last(started, event),
    isNew(event) {
      if ('id' in event) {
        if (isKnown(event)) return false
        known.add(event.id)
        if (event.type === 'message.completed')
          stored.set(threadOf(event), Math.max(last(stored, event), event.message.round))
        return true
      }
      if (event.type === 'tool_call.progress')
        return event.messageId > emitted && !known.has(eventId(event.messageId, 'tool_call.completed'))
      if (!('round' in event)) return true
      if (isOver(threadOf(event)) || event.round <= last(stored, event)) return false
      // Deltas are dropped until their round's start is received: a text must not begin in the middle.
      if (isDelta(event)) return event.round <= last(started, event)
      if (event.type === 'round.started' && event.round <= last(started, event)) return false
      started.set(threadOf(event), Math.max(last(started, event), event.round))
      return true
    },
    pass(message) {
      emitted = message
      if (known.size <= kept + MAX_IDS) return
      forgetEmitted()
      kept = known.size
      for (const rounds of [stored, started])
        for (const thread of rounds.keys()) {
          if (rounds.size <= MAX_THREADS) break
          if (thread !== '') rounds.delete(thread)
        }
    },
    forget(through) {
      if (through === undefined) return
      ;[passed, emitted] = [through, through]
      forgetEmitted()
      for (const rounds of [stored, started])
        for (const thread of rounds.keys()) if (isOver(thread)) rounds.delete(thread)
    },
  }
}
