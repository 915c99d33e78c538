import type { RunEvent } from '../../domain/events.ts'
import type { SessionKey } from '../../domain/session.ts'
import { messageLength } from '../../log/message-length.ts'
import { createRoundsUnderWay } from './round-under-way.ts'

/** Events that one consumer has not read yet, and the characters of their contents. */
const BUFFERED = 1_000
const BUFFERED_CHARACTERS = 1_000_000

export interface Subscription {
  /**
   * The next events; waits for them at most `milliseconds`, or until closed, and then answers none. `gap`: the consumer was
   * too slow and events were dropped: what was stored can be read from the log.
   */
  next(milliseconds: number): Promise<{ events: readonly RunEvent[]; gap: boolean }>
  close(): void
}

export interface EventBus {
  emit(key: SessionKey, event: RunEvent): void
  /** Begins with what has already streamed of the round under way. */
  subscribe(key: SessionKey): Subscription
}

/** Hands a process's run events to its consumers. Emitting never waits: a slow or vanished consumer cannot slow a run. */
export function createEventBus(): EventBus {
  const sessions = new Map<string, Set<(event: RunEvent) => void>>()
  const rounds = createRoundsUnderWay()
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
      const buffer = createBuffer(rounds.of(name))
      receivers.add(buffer.receive)
      return {
        next: buffer.next,
        close() {
          buffer.close()
          receivers.delete(buffer.receive)
          if (receivers.size === 0 && sessions.get(name) === receivers) sessions.delete(name)
        },
      }
    },
  }
}

function createBuffer(begun: readonly RunEvent[]): Subscription & { receive(event: RunEvent): void } {
  let events = [...begun]
  let length = 0
  let gap = false
  let closed = false
  let wake: (() => void) | undefined
  return {
    receive(event) {
      length += lengthOf(event)
      if (events.length >= BUFFERED || (events.length > 0 && length > BUFFERED_CHARACTERS)) {
        events = []
        length = lengthOf(event)
        gap = true
      }
      events.push(event)
      wake?.()
    },
    async next(milliseconds) {
      if (events.length === 0 && !gap && !closed)
        await new Promise<void>((resolve) => {
          const timer = setTimeout(over, milliseconds)
          wake = over
          function over(): void {
            wake = undefined
            clearTimeout(timer)
            resolve()
          }
        })
      const batch = { events, gap }
      events = []
      length = 0
      gap = false
      return batch
    },
    close() {
      closed = true
      wake?.()
    },
  }
}

function lengthOf(event: RunEvent): number {
  if ('text' in event) return event.text.length
  if ('arguments' in event) return event.arguments.length
  return 'message' in event && event.message !== undefined ? messageLength(event.message) : 0
}

export const nameOf = (key: SessionKey): string => `${key.tenant}/${key.session}`
