import type { DeltaEvent, RunEvent } from '../../domain/events.ts'
import { isDelta, joined } from './joined-deltas.ts'

/**
 * Maximum number of rounds whose events are kept. Beyond this limit, the oldest rounds are dropped: a late follower sees such a
 * round after it is stored.
 */
const MAX_ROUNDS = 256
/** Maximum number of events kept for one round. Consecutive deltas of one part count as one event. */
const MAX_EVENTS = 1_000

export interface StreamingRounds {
  /** Records an event. All events of a session must be passed, in order. */
  note(session: string, event: RunEvent): void
  /**
   * Returns the events streamed so far by the session's unstored rounds, of the leader or of working members. Each round is
   * returned from its start.
   */
  of(session: string): readonly RunEvent[]
}

/**
 * Keeps the events of each round until the round is stored, so that a late or returning follower gets the round from its start.
 */
export function createStreamingRounds(): StreamingRounds {
  const rounds = new Map<string, StreamingRound>()
  const ofSession = new Map<string, Set<string>>()
  return {
    note(session, event) {
      const name = `${session} ${event.parentMessageId ?? ''}`
      if (event.type === 'round.started') begin(session, name, event)
      else if (event.type === 'round.restarted') restart(name, event)
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

  /** Keeps only the event that starts the round, with the number of the new attempt. */
  function restart(name: string, { reason: _, ...round }: RestartedEvent): void {
    const events = rounds.get(name)?.events
    events?.splice(0, events.length, { ...round, type: 'round.started' })
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

type RestartedEvent = Extract<RunEvent, { readonly type: 'round.restarted' }>

interface StreamingRound {
  readonly session: string
  readonly events: RunEvent[]
}
