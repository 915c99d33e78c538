import { ImportRefused } from '../../domain/messages/closed-message.ts'
import type {
  ClosedAssistantMessage,
  ClosedMessage,
  ClosedToolMessage,
  MemberCall,
} from '../../domain/messages/closed-message.ts'
import { STATUS_TEXT } from '../../domain/messages/message.ts'
import { lengthOf } from './message-length.ts'

/** Limits of the open calls of all loops, and of the characters in their messages, because these are in memory. */
const MAX_OPEN_CALLS = 10_000
const MAX_CHARACTERS = 64 * 1024 * 1024

/** Open calls of a loop, in order. They are indexed by name, because there may be thousands. */
interface OpenLoop {
  readonly open: Set<FoundCall>
  readonly byName: Map<string, Set<FoundCall>>
  /** Whether the loop has received no result since the first of its open calls was added. */
  isUntouched: boolean
}

/** The call that a result belongs to. */
export interface FoundCall {
  readonly of: ClosedAssistantMessage
  readonly sequence: number
}

/**
 * Tracks the open rounds of an imported log: one per loop. The leader has a loop, and each delegate call has a loop of its own.
 * If a loop continues while calls are open, these calls never got a result.
 */
export interface OpenRounds {
  /**
   * Returns the calls that this message leaves without a result, as `interrupted`. In the log, these calls precede the
   * message. `names`: the source's names of the message's own calls, if the names differ from the ids.
   */
  closedBy(message: Exclude<ClosedMessage, ClosedToolMessage>, names?: readonly string[]): ClosedToolMessage[]
  /**
   * Removes and returns a loop's first open call with this name. `sequence`: the call must also have this sequence.
   * Returns undefined if there is none.
   */
  take(loop: Loop, name: string, sequence?: number): FoundCall | undefined
  /** Returns each call that is open at the end of the log, as `interrupted`. */
  end(): ClosedToolMessage[]
  /** Throws `ImportRefused` with the path `at` if the message's calls and the open calls together exceed the memory limit. */
  assertCapacity(message: ClosedMessage, at: string): void
}

/**
 * Identifies a member's loop by its delegate call, or by that call's id if the call is unknown. Undefined for the
 * leader's loop.
 */
export type Loop = MemberCall | string | undefined

/** The loop of a message. */
export const loopOf = ({ parent, parentToolCallId }: Pick<ClosedMessage, 'parent' | 'parentToolCallId'>): Loop =>
  parent ?? parentToolCallId

/** Creates an empty tracker. */
export function createOpenRounds(): OpenRounds {
  /**
   * Loops with open calls. The open calls of a loop belong to one completion, or to several completions that all precede the
   * first result.
   */
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

/** Counts the messages with open calls, and their characters. */
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
    /** Records that one of the message's calls is closed. */
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

/** Adds the calls of one more message to a loop, and returns the loop. Creates the loop if `known` is undefined. */
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
