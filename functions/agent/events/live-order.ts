import type { MessageCompletedEvent, RunEvent, StoredEvent } from '../../domain/events.ts'
import { isLeaders, MAX_ROUND_CALLS } from '../../domain/messages/message.ts'
import { isNextPosition } from '../../domain/runs/event-position.ts'
import type { EventPosition } from '../../domain/runs/event-position.ts'

/** Tracks a follower's position in the order of a run's stored events. */
export interface LiveOrder {
  /**
   * Returns whether this live event directly follows the last event. If so, the live event becomes the last event. Otherwise,
   * the log must be read.
   */
  isNext(event: StoredEvent): boolean
  /** Sets the position of the last event that was shown from the log. Undefined if no event was shown. */
  moveTo(position: EventPosition | undefined): void
}

/** Creates the order of a follower that has received nothing yet. */
export function createLiveOrder(): LiveOrder {
  let last: EventPosition | undefined
  /** The latest completion, if only starts of its calls have followed; otherwise undefined. */
  let round: MessageCompletedEvent | undefined

  function follows(event: StoredEvent): boolean {
    if (event.type === 'tool_call.started')
      return event.message.sequence < MAX_ROUND_CALLS && event.message.assistantMessageId === round?.message.id
    if (event.type.startsWith('run.')) return event.type !== 'run.paused' && round !== undefined && isLast(round)
    const position = positionOf(event)
    // If no event was shown or received yet, the next event must be the holder's first one, number 0.
    return position !== undefined && (last === undefined ? position.number === 0 : isNextPosition(position, last))
  }

  return {
    isNext(event) {
      if (!follows(event)) return false
      last = positionOf(event) ?? last
      if (event.type !== 'tool_call.started') round = event.type === 'message.completed' ? event : undefined
      return true
    },
    moveTo(position) {
      last = position
      round = undefined
    },
  }
}

/** Whether the run ends with this completion. */
const isLast = ({ message }: MessageCompletedEvent): boolean => isLeaders(message) && message.toolCalls.length === 0

/** Returns the position of a stored event among those of its run. */
export function positionOf(event: RunEvent): EventPosition | undefined {
  if ('position' in event) return event.position
  if (event.type === 'tool_call.started') return undefined
  return 'message' in event ? event.message?.position : undefined
}
