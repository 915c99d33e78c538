import type { RunEvent } from '../../domain/events.ts'
import { isLeaders } from '../../domain/message.ts'

/** Rounds whose events are kept; of more, those that began first are forgotten: who comes late sees them once stored. */
const MOST_ROUNDS = 256
/** Events of one round that are kept; deltas of the same piece are one. */
const MOST_EVENTS = 1_000

export interface RoundsUnderWay {
  /** Takes every event of a session, in order. */
  note(session: string, event: RunEvent): void
  /** What has streamed of the session's round that is not stored yet, from its start; nothing between rounds. */
  of(session: string): readonly RunEvent[]
}

/**
 * Keeps what has streamed of rounds until they are stored, so that who comes late, or comes back, gets a round from its start
 * and not from the middle of a word.
 */
export function createRoundsUnderWay(): RoundsUnderWay {
  const rounds = new Map<string, RunEvent[]>()
  return {
    note(session, event) {
      if (!isLeaders(event)) return
      if (event.type === 'round.started') begin(session, event)
      else if (event.type === 'round.restarted') rounds.get(session)?.splice(1)
      else if (isDelta(event)) add(session, event)
      else if (event.type === 'message.completed' || event.type.startsWith('run.')) rounds.delete(session)
    },
    of: (session) => [...(rounds.get(session) ?? [])],
  }

  function begin(session: string, event: RunEvent): void {
    rounds.delete(session)
    rounds.set(session, [event])
    if (rounds.size <= MOST_ROUNDS) return
    for (const oldest of rounds.keys()) {
      rounds.delete(oldest)
      return
    }
  }

  function add(session: string, event: Delta): void {
    const events = rounds.get(session)
    if (events === undefined) return
    const joined = join(events.at(-1), event)
    if (joined === undefined) events.push(event)
    else events[events.length - 1] = joined
    if (events.length > MOST_EVENTS) rounds.delete(session)
  }
}

type Delta = Extract<RunEvent, { readonly type: 'text.delta' | 'reasoning.delta' | 'tool_call.delta' }>

const isDelta = (event: RunEvent): event is Delta => event.type.endsWith('.delta')

/** Two deltas of the same piece as one; undefined for others. */
function join(last: RunEvent | undefined, next: Delta): Delta | undefined {
  if (next.type === 'tool_call.delta') {
    const isSame = last?.type === next.type && last.toolCallId === next.toolCallId && last.sequence === next.sequence
    return isSame ? { ...next, arguments: last.arguments + next.arguments } : undefined
  }
  const isSame = last?.type === next.type && last.part === next.part
  return isSame ? { ...next, text: last.text + next.text } : undefined
}
