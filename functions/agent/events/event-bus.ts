import type { RunEvent } from '../../domain/events.ts'
import type { SessionKey } from '../../domain/session.ts'
import { messageLength } from '../../log/message-length.ts'
import { isDelta, joined } from './joined-deltas.ts'
import { createStreamingRounds } from './streaming-rounds.ts'

/**
 * Limits of one consumer's unread events: their number, and the characters of their contents. Consecutive deltas of one part are
 * joined and count as one event.
 */
const BUFFERED = 256
const BUFFERED_CHARACTERS = 32_000

export interface Subscription {
  /**
   * Returns the next events. Returns an empty list after `milliseconds`, or when `wake` or `close` ends the wait. `gap` is true
   * if the consumer was too slow and stored events were dropped. The log still has them. After any events were dropped, the next
   * events begin with the part of the current round that was streamed so far.
   */
  next(milliseconds: number): Promise<{ events: readonly RunEvent[]; gap: boolean }>
  /** Ends the current wait without events. */
  wake(): void
  close(): void
}

export interface EventBus {
  emit(key: SessionKey, event: RunEvent): void
  /** Subscribes to a session's events. The first events are those that the current round has already streamed. */
  subscribe(key: SessionKey): Subscription
}

/**
 * Delivers a process's run events to its consumers. Emitting never waits: a slow or vanished consumer cannot slow a
 * run.
 */
export function createEventBus(): EventBus {
  const sessions = new Map<string, Set<(event: RunEvent) => void>>()
  const rounds = createStreamingRounds()
  return {
    emit(key, event) {
      const name = nameOf(key)
      rounds.note(name, event)
      for (const receive of sessions.get(name) ?? []) receive(event)
    },
    subscribe(key) {
      const name = nameOf(key)
      const receivers = sessions.get(name) ?? new Set()
      sessions.set(name, receivers)
      const buffer = createBuffer(() => rounds.of(name))
      receivers.add(buffer.receive)
      return {
        next: buffer.next,
        wake: buffer.wake,
        close() {
          buffer.close()
          receivers.delete(buffer.receive)
          if (receivers.size === 0 && sessions.get(name) === receivers) sessions.delete(name)
        },
      }
    },
  }
}

function createBuffer(inFlight: () => readonly RunEvent[]): Subscription & { receive(event: RunEvent): void } {
  let events: RunEvent[] = []
  let length = 0
  let isBehind = false
  let gap = false
  let closed = false
  let wake: (() => void) | undefined
  const incomplete = createIncompleteRounds()
  for (const event of inFlight()) receive(event)
  return {
    receive,
    wake: () => wake?.(),
    async next(milliseconds) {
      if (events.length === 0 && !isBehind && !closed)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(over, milliseconds)
          wake = over
          function over(): void {
            wake = undefined
            clearTimeout(timer)
            resolve()
          }
        })
      if (gap) {
        // This call reports the gap. The consumer then reads the log. The next call of `next` returns the events streamed during
        // that read.
        gap = false
        return { events: [], gap: true }
      }
      const next = isBehind ? inFlight() : events
      for (const event of next) incomplete.pass(event)
      isBehind = false
      ;[events, length] = [[], 0]
      return { events: next, gap: false }
    },
    close() {
      closed = true
      wake?.()
    },
  }

  function receive(event: RunEvent): void {
    incomplete.pass(event)
    if (!isBehind && incomplete.has(event)) return
    length += lengthOf(event)
    // Joins consecutive deltas of one part, so that consumers keep up with a fast model.
    const whole = isBehind || length > BUFFERED_CHARACTERS ? undefined : joined(events.at(-1), event)
    if (whole !== undefined) return void events.splice(-1, 1, whole)
    // A waiting consumer takes the event at once, whatever its length.
    if (!isBehind && (wake !== undefined || (events.length < BUFFERED && length <= BUFFERED_CHARACTERS))) {
      events.push(event)
      wake?.()
      return
    }
    isBehind = true
    gap ||= isStored(event) || events.some(isStored)
    for (const one of [...events, event]) incomplete.drop(one)
    ;[events, length] = [[], 0]
  }
}

/**
 * Threads in whose current round the consumer missed deltas. The consumer gets no deltas of such a thread until a round of the
 * thread starts or ends.
 */
function createIncompleteRounds() {
  const threads = new Set<string>()
  return {
    has: (event: RunEvent): boolean => isDelta(event) && threads.has(threadOf(event)),
    drop(event: RunEvent): void {
      if (isDelta(event)) threads.add(threadOf(event))
    },
    /** Notes an event that starts or ends a round. */
    pass(event: RunEvent): void {
      if (event.type.startsWith('round.') || event.type === 'message.completed') threads.delete(threadOf(event))
    },
  }
}

const threadOf = ({ parentMessageId = '' }: RunEvent): string => parentMessageId

/**
 * Whether an event is stored. Events without an id are not: they are deltas of the current round, or useless to late
 * subscribers.
 */
const isStored = (event: RunEvent): boolean => 'id' in event

function lengthOf(event: RunEvent): number {
  if ('text' in event) return event.text.length
  if ('arguments' in event) return event.arguments.length
  return 'message' in event && event.message !== undefined ? messageLength(event.message) : 0
}

export const nameOf = (key: SessionKey): string => `${key.tenant}/${key.session}`
