import { eventId } from '../../domain/events.ts'
import type { RunEvent, StoredEvent } from '../../domain/events.ts'
import type { ParentNames } from '../../domain/messages/message.ts'

/** The characters of a ULID, with which an event's id begins. */
const ULID = 26

/** What follows in the id of an event that tells of a run and not of a message: there are few. */
const OF_RUN = /^:(?:run|context|warning)/

/** Ids of messages' events, and threads, that are kept while a log is told: a run that was imported may have millions. */
const MAX_IDS = 1_000
const MAX_THREADS = 1_000

/** Tells events that a consumer has had, or that are stale because their round is stored, from new ones. */
export interface EventFilter {
  isNew(event: RunEvent): boolean
  /** Whether the consumer has had this stored event. */
  isKnown(event: StoredEvent): boolean
  /** Whether the consumer has had the beginning of this round, and not its end. */
  isStreaming(round: RoundNames): boolean
  /** The consumer has had all of the messages up to this one, which the log tells in their order, and will be told of no other. */
  pass(message: string): void
  /** Nothing is kept any more of messages up to this one: the consumer has had all of them. */
  forget(through: string | undefined): void
}

/** A round of the leader or of a member. */
type RoundNames = ParentNames & { readonly round: number }

/** The filter of a consumer that has had nothing yet. */
export function createEventFilter(): EventFilter {
  const known = new Set<string>()
  let passed = ''
  /** As `passed`, but members may still come that work for calls up to it. */
  let emitted = ''
  /** Ids that were left when the others were forgotten: those of the run's own events. */
  let kept = 0
  /** The last rounds of each thread, by its delegate call. */
  const stored = new Map<string, number>()
  const started = new Map<string, number>()
  const threadOf = ({ parentMessageId = '' }: ParentNames): string => parentMessageId
  /** Its delegate call, and with it all that came of it, is passed. */
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
      if (isOver(threadOf(event))) return false
      if (event.round <= last(stored, event)) return false
      if (event.type !== 'round.started') return true
      if (event.round <= last(started, event)) return false
      started.set(threadOf(event), event.round)
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
