import type { ClosedAssistantMessage, ClosedMessage, MemberCall } from '../../domain/messages/closed-message.ts'
import { DELEGATE_TOOL } from '../../domain/runs/team.ts'
import { createLoops } from '../../log/import/newest.ts'
import { loopOf, type Loop } from '../../log/import/open-rounds.ts'
import { SEARCHING_TOOL } from '../../search/documents/documents.ts'
import type { PlacedMessage } from './closed-turns.ts'

/**
 * Marks messages and tasks that follow a search of the history. The agent loop marks the messages of our own runs in
 * the same way. A mark is derived from earlier calls of the same turn, or taken from the imported data. A delegate call
 * precedes its member's search, so the mark of the call can only come from the imported data.
 */
export function createSearchedMarks(): (placed: PlacedMessage) => PlacedMessage {
  let turn: number | undefined
  /** Loops of this turn that have searched, or whose members have searched. */
  const searched = createLoops<true>()
  /** The loop that made each delegate call. */
  const givers = new WeakMap<MemberCall, Loop>()
  /** Completions whose loop had searched the history before them. */
  const after = new WeakSet<ClosedAssistantMessage>()

  return (placed) => {
    if (placed.turn !== turn) searched.clear()
    turn = placed.turn
    const { message } = placed
    return message.role !== 'user' && isMarked(message) ? { ...placed, searched: true } : placed
  }

  function isMarked(message: Exclude<ClosedMessage, { role: 'user' }>): boolean {
    const loop = loopOf(message)
    if (message.role === 'assistant') {
      const searches = message.toolCalls.some(({ name }) => name === SEARCHING_TOOL)
      const isAfter = searched.get(loop) === true || (message.searched === true && !searches)
      if (isAfter) after.add(message)
      return isAfter || searches
    }
    const { of, sequence, named } = message
    const name = of.toolCalls[sequence]?.name
    const isTask = name === DELEGATE_TOOL && (message.searched === true || after.has(of))
    if (named !== undefined) givers.set(named, loop)
    if (named !== undefined && isTask) searched.set(named, true)
    if (name === SEARCHING_TOOL || isTask) noteSearch(loop)
    return isTask
  }

  /** Marks the loop that searched and all loops above it. */
  function noteSearch(loop: Loop): void {
    searched.set(loop, true)
    // Iterative, because a log may nest tasks deeper than the stack allows.
    for (let one = loop; typeof one === 'object' && givers.has(one);) {
      one = givers.get(one)
      if (searched.get(one) === true) return
      searched.set(one, true)
    }
  }
}
