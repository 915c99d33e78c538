import type { RunEvent } from '../../domain/events.ts'
import type { ToolMessage } from '../../domain/messages/message.ts'
import { messageLength } from '../../log/message-length.ts'

/** Results that wait, and characters of them: a log that was imported may have thousands before what comes after them. */
const MAX_RESULTS = 1_000
const MAX_CHARACTERS = 8_000_000

/** The ends of delegate calls, which stand in the log before what their members did, and are told after it. */
export interface MemberResults {
  /** Lets the end of a call wait. Returns those that must be told now, because too much would wait. */
  add(call: ToolMessage, end: readonly RunEvent[]): readonly RunEvent[]
  /** All that wait, the inner ones first. */
  take(): readonly RunEvent[]
  isEmpty(): boolean
}

/** None yet. */
export function createMemberResults(): MemberResults {
  let waiting: RunEvent[] = []
  let characters = 0
  const take = (): readonly RunEvent[] => {
    const all = waiting.toReversed()
    waiting = []
    characters = 0
    return all
  }
  return {
    add(call, end) {
      waiting.push(...end)
      characters += messageLength(call)
      return waiting.length > MAX_RESULTS || characters > MAX_CHARACTERS ? take() : []
    },
    take,
    isEmpty: () => waiting.length === 0,
  }
}
