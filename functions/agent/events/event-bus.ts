import type { RunEvent } from '../../domain/events.ts'
import type { SessionKey } from '../../domain/session.ts'
import { messageLength } from '../../log/message-length.ts'
import { joined } from './joined-deltas.ts'
import { createStreamingRounds } from './streaming-rounds.ts'

/** Events that one consumer has not read yet, deltas of the same piece as one, and the characters of their contents. */
const BUFFERED = 256
const BUFFERED_CHARACTERS = 32_000

export interface Subscription {
  /**
   * The next events. Waits at most `milliseconds`, or until closed; then returns none. `gap`: the consumer was too slow
   * and events were dropped. Stored ones can be read from the log; the next events begin with what has streamed of the
   * round under way.
   */
  next(milliseconds: number): Promise<{ events: readonly RunEvent[]; gap: boolean }>
  /** Lets who waits go on without events. */
  wake(): void
  close(): void
}

export interface EventBus {
  emit(key: SessionKey, event: RunEvent): void
  /** Begins with what the current round has already streamed. */
  subscribe(key: SessionKey): Subscription
}

/** Hands a process's run events to its consumers. Emitting never waits: a slow or vanished consumer cannot slow a run. */
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
        // What streams while the consumer reads the log is asked for afterwards.
        gap = false
        return { events: [], gap: true }
      }
      const next = isBehind ? inFlight() : events
      isBehind = false
      empty()
      return { events: next, gap: false }
    },
    close() {
      closed = true
      wake?.()
    },
  }

  function receive(event: RunEvent): void {
    length += lengthOf(event)
    // A model whose words come all at once puts nobody behind.
    const whole = isBehind || length > BUFFERED_CHARACTERS ? undefined : joined(events.at(-1), event)
    if (whole !== undefined) return void events.splice(-1, 1, whole)
    // Who waits takes it at once, however long it is.
    if (!isBehind && (wake !== undefined || (events.length < BUFFERED && length <= BUFFERED_CHARACTERS))) {
      events.push(event)
      wake?.()
      return
    }
    isBehind = true
    gap ||= isStored(event) || events.some(isStored)
    empty()
  }

  function empty(): void {
    events = []
    length = 0
  }
}

/** What has no id has streamed of the round under way, or is of use to nobody who comes late. */
const isStored = (event: RunEvent): boolean => 'id' in event

function lengthOf(event: RunEvent): number {
  if ('text' in event) return event.text.length
  if ('arguments' in event) return event.arguments.length
  return 'message' in event && event.message !== undefined ? messageLength(event.message) : 0
}

export const nameOf = (key: SessionKey): string => `${key.tenant}/${key.session}`
