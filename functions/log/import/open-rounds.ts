import { ImportRefused } from '../../domain/messages/closed-message.ts'
import type {
  ClosedAssistantMessage,
  ClosedMessage,
  ClosedToolMessage,
  MemberCall,
} from '../../domain/messages/closed-message.ts'
import { STATUS_TEXT } from '../../domain/messages/message.ts'
import { lengthOf } from './message-length.ts'

/** Calls of all loops that may be open at once, and characters of the messages that have them: these are in memory. */
const MAX_OPEN_CALLS = 10_000
const MAX_CHARACTERS = 64 * 1024 * 1024

/** Calls of a loop that are open, in their order. They are found by name: there may be thousands of them. */
interface OpenLoop {
  readonly open: Set<FoundCall>
  readonly byName: Map<string, Set<FoundCall>>
  /** No result has come yet. */
  isUntouched: boolean
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
  /**
   * Before this message: the calls that it leaves without a result, as `interrupted`. `names`: what its calls are called in
   * their source, where this is not their id.
   */
  closedBy(message: Exclude<ClosedMessage, ClosedToolMessage>, names?: readonly string[]): ClosedToolMessage[]
  /** Takes the result of a loop's first open call of this name, and place if it is given. Undefined: there is none. */
  take(loop: Loop, name: string, sequence?: number): FoundCall | undefined
  /** What is left open at the log's end. */
  end(): ClosedToolMessage[]
  /** Throws `ImportRefused`, with this path, if memory has no room for this message's calls beside those that are open. */
  assertCapacity(message: ClosedMessage, at: string): void
}

/** The call that a loop works for, or its id where the call itself is not known; undefined: the leader's. */
export type Loop = MemberCall | string | undefined

/** The loop of a message. */
export const loopOf = ({ parent, parentToolCallId }: Pick<ClosedMessage, 'parent' | 'parentToolCallId'>): Loop =>
  parent ?? parentToolCallId

/** No message read yet. */
export function createOpenRounds(): OpenRounds {
  /** By loop that has open calls: one round, or several whose messages came one after another before the first result. */
  const loops = new Map<Loop, OpenLoop>()
  const held = createHeld()
  const close = (loop: Loop): ClosedToolMessage[] => {
    const { open = [] } = loops.get(loop) ?? {}
    loops.delete(loop)
    return [...open].map((call) => {
      held.drop(call.of)
      return interrupted(call.of, call.sequence)
    })
  }
  const closeAll = (): ClosedToolMessage[] => [...loops.keys()].flatMap(close)
  return {
    closedBy(message, names) {
      const loop = loopOf(message)
      if (message.role === 'user') return loop === undefined ? closeAll() : close(loop)
      const hasCalls = message.toolCalls.length > 0
      const closed = loops.get(loop)?.isUntouched === true && hasCalls ? [] : close(loop)
      if (hasCalls) loops.set(loop, opened(loops.get(loop), message, names))
      held.keep(message)
      return closed
    },
    take(loop, name, sequence) {
      const found = loops.get(loop)
      const named = found?.byName.get(name)
      for (const call of named ?? []) {
        if (found === undefined || (sequence !== undefined && call.sequence !== sequence)) continue
        named?.delete(call)
        found.open.delete(call)
        found.isUntouched = false
        if (found.open.size === 0) loops.delete(loop)
        held.drop(call.of)
        return call
      }
      return undefined
    },
    end: closeAll,
    assertCapacity: held.assertCapacity,
  }
}

/** The messages that have open calls. */
function createHeld() {
  const messages = new Map<ClosedAssistantMessage, { left: number; readonly characters: number }>()
  let calls = 0
  let characters = 0
  return {
    keep(message: ClosedAssistantMessage): void {
      const left = message.toolCalls.length
      if (left === 0) return
      const one = { left, characters: lengthOf(message) }
      messages.set(message, one)
      calls += left
      characters += one.characters
    },
    /** One of its calls is closed. */
    drop(message: ClosedAssistantMessage): void {
      const one = messages.get(message)
      if (one === undefined) return
      calls--
      if (--one.left > 0) return
      messages.delete(message)
      characters -= one.characters
    },
    assertCapacity(message: ClosedMessage, at: string): void {
      if (message.role !== 'assistant' || message.toolCalls.length === 0) return
      const isMany = calls + message.toolCalls.length > MAX_OPEN_CALLS
      if (!isMany && characters + lengthOf(message) <= MAX_CHARACTERS) return
      const most = isMany ? `more than ${MAX_OPEN_CALLS.toLocaleString('en')} calls` : 'calls in more than 64 MB'
      throw new ImportRefused([{ path: `${at}.tool_calls`, message: `leaves ${most} open` }])
    },
  }
}

/** The loop with the calls of one more message. */
function opened(known: OpenLoop | undefined, of: ClosedAssistantMessage, names?: readonly string[]): OpenLoop {
  const loop = known ?? { open: new Set(), byName: new Map<string, Set<FoundCall>>(), isUntouched: true }
  for (const [sequence, { id }] of of.toolCalls.entries()) {
    const call = { of, sequence }
    const name = names?.[sequence] ?? id
    loop.open.add(call)
    loop.byName.set(name, (loop.byName.get(name) ?? new Set()).add(call))
  }
  return loop
}

function interrupted(of: ClosedAssistantMessage, sequence: number): ClosedToolMessage {
  const { agent, parentToolCallId, parent, round, createdAt, run } = of
  const place = { agent, parentToolCallId, parent, round, createdAt, run, completedAt: createdAt }
  const known = Object.fromEntries(Object.entries(place).filter(([, value]) => value !== undefined))
  const parts = [{ type: 'text', text: STATUS_TEXT.interrupted }] as const
  return { ...known, role: 'tool', of, sequence, status: 'interrupted', parts }
}
