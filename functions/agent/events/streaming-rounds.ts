import type { DeltaEvent, RunEvent } from '../../domain/events.ts'
import { isDelta, joined } from './joined-deltas.ts'

/** How many rounds' events are kept. Beyond that the oldest rounds are dropped: late followers see them once stored. */
const MAX_ROUNDS = 256
/** How many events of one round are kept; deltas of the same piece count as one. */
const MAX_EVENTS = 1_000

export interface StreamingRounds {
  /** Takes every event of a session, in order. */
  note(session: string, event: RunEvent): void
  /** What the session's unstored rounds have streamed, each from its start: the leader's, or those of members at work. */
  of(session: string): readonly RunEvent[]
}

/**
 * Keeps what rounds have streamed until they are stored, so that a late or returning follower gets a round from its
 * start and not from the middle of a word.
 */
export function createStreamingRounds(): StreamingRounds {
  const rounds = new Map<string, StreamingRound>()
  const ofSession = new Map<string, Set<string>>()
  return {
    note(session, event) {
      const name = `${session} ${event.parentMessageId ?? ''}`
      if (event.type === 'round.started') begin(session, name, event)
      else if (event.type === 'round.restarted') rounds.get(name)?.events.splice(1)
      else if (isDelta(event)) add(name, event)
      else if (event.type === 'message.completed') end(name)
      else if (event.type.startsWith('run.')) for (const one of ofSession.get(session) ?? []) end(one)
    },
    of: (session) => [...(ofSession.get(session) ?? [])].flatMap((name) => rounds.get(name)?.events ?? []),
  }

  function begin(session: string, name: string, event: RunEvent): void {
    end(name)
    rounds.set(name, { session, events: [event] })
    const names = ofSession.get(session) ?? new Set()
    ofSession.set(session, names.add(name))
    if (rounds.size <= MAX_ROUNDS) return
    for (const oldest of rounds.keys()) {
      end(oldest)
      return
    }
  }

  function add(name: string, event: DeltaEvent): void {
    const events = rounds.get(name)?.events
    if (events === undefined) return
    const whole = joined(events.at(-1), event)
    if (whole === undefined) events.push(event)
    else events[events.length - 1] = whole
    if (events.length > MAX_EVENTS) end(name)
  }

  function end(name: string): void {
    const { session = '' } = rounds.get(name) ?? {}
    rounds.delete(name)
    const names = ofSession.get(session)
    names?.delete(name)
    if (names?.size === 0) ofSession.delete(session)
  }
}

interface StreamingRound {
  readonly session: string
  readonly events: RunEvent[]
}
