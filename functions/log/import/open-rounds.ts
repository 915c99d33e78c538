import type {
  ClosedAssistantMessage,
  ClosedMessage,
  ClosedToolMessage,
  MemberCall,
} from '../../domain/closed-message.ts'
import { STATUS_TEXT } from '../../domain/message.ts'

interface OpenRound {
  readonly of: ClosedAssistantMessage
  /** Places of calls that have no result yet. */
  readonly open: Set<number>
}

/** Where a result belongs. */
export interface FoundCall {
  readonly of: ClosedAssistantMessage
  readonly sequence: number
}

/**
 * The rounds of a log that is read from its beginning, one in each loop: the leader's, and one for each call that a member
 * works for. What is still open when its loop goes on never got a result.
 */
export interface OpenRounds {
  /** Before this message: the calls that it leaves without a result, as `interrupted`. */
  closedBy(message: Exclude<ClosedMessage, ClosedToolMessage>): ClosedToolMessage[]
  /** Takes the result of the first open call of a loop that fits. Undefined: there is none. */
  take(loop: Loop, fits: (call: FoundCall) => boolean): FoundCall | undefined
  /** What is left open at the log's end. */
  end(): ClosedToolMessage[]
}

/** The call that a loop works for, or its id where the call itself is not known; undefined: the leader's. */
export type Loop = MemberCall | string | undefined

/** The loop of a message. */
export const loopOf = ({ parent, parentToolCallId }: Pick<ClosedMessage, 'parent' | 'parentToolCallId'>): Loop =>
  parent ?? parentToolCallId

/** No message read yet. */
export function createOpenRounds(): OpenRounds {
  /** By loop: one round, or several whose messages came one after another before the first result. */
  const loops = new Map<Loop, OpenRound[]>()
  const close = (loop: Loop): ClosedToolMessage[] => {
    const rounds = loops.get(loop) ?? []
    loops.delete(loop)
    return rounds.flatMap(({ of, open }) => [...open].map((sequence) => interrupted(of, sequence)))
  }
  const closeAll = (): ClosedToolMessage[] => [...loops.keys()].flatMap(close)
  return {
    closedBy(message) {
      const loop = loopOf(message)
      if (message.role === 'user') return loop === undefined ? closeAll() : close(loop)
      const isUntouched = loops.get(loop)?.every(({ of, open }) => open.size === of.toolCalls.length) ?? false
      const hasCalls = message.toolCalls.length > 0
      const closed = isUntouched && hasCalls ? [] : close(loop)
      const round = { of: message, open: new Set(message.toolCalls.keys()) }
      if (hasCalls) loops.set(loop, [...(loops.get(loop) ?? []), round])
      return closed
    },
    take(loop, fits) {
      for (const { of, open } of loops.get(loop) ?? [])
        for (const sequence of open) {
          if (!fits({ of, sequence })) continue
          open.delete(sequence)
          return { of, sequence }
        }
      return undefined
    },
    end: closeAll,
  }
}

function interrupted(of: ClosedAssistantMessage, sequence: number): ClosedToolMessage {
  const { agent, parentToolCallId, parent, round, createdAt, run } = of
  const place = { agent, parentToolCallId, parent, round, createdAt, run, completedAt: createdAt }
  const known = Object.fromEntries(Object.entries(place).filter(([, value]) => value !== undefined))
  const parts = [{ type: 'text', text: STATUS_TEXT.interrupted }] as const
  return { ...known, role: 'tool', of, sequence, status: 'interrupted', parts }
}
