import { isLeaders } from '../domain/message.ts'
import type { Message, Part, UserMessage } from '../domain/message.ts'

/** Characters of a request that load at most: 200,000 tokens of about four characters. */
const DEFAULT_BUDGET = 800_000
/** A cut leaves at least this share of the budget where it can, so that it need not move again at once. */
const LEAST_SHARE = 0.7
/** Characters that a message costs beside its text, and that an image or a file stands for. */
const MESSAGE_COST = 40
const MEDIA_COST = 6_000
/** Characters that a message is taken to have before any is known. */
const TYPICAL_COST = 8_000

/** Stands where a log was cut. */
export const CUT_NOTE =
  '<system_note>Earlier messages of this conversation are left out here: they no longer fit.</system_note>'

/** Messages read at a time at the least, as long as those of the current turn come in. */
const TURN_PAGE = 100

export interface ContextWindow {
  /** Takes the next page of a log read backwards, newest message first. Answers true when older ones can no longer fit. */
  add(page: readonly Message[]): boolean
  /** How many more messages fill the window, if they are like those so far; at least 1. */
  wanted(): number
  /** What fits, ascending. Where older messages are left out, a user message that is not in the log says so first. */
  messages(): Message[]
}

/**
 * Bounds what is loaded of a log by what a context can hold (promises R7). The turn of `currentRun` is whole, whatever its
 * size (promises R3): its messages, and where it has no input of its own, those of the runs that it continues. The turns
 * before it share what the input leaves of the budget, so that a run that was taken over is sent what it was sent before.
 *
 * The cut never falls inside a round and is a function of the log alone: of the rounds that may come first, it takes the
 * one whose id has the smallest hash. So the cut, and with it the prefix of the requests, stays where it is while the log
 * grows by some runs.
 */
export function createContextWindow(currentRun: string, budget = DEFAULT_BUDGET): ContextWindow {
  const turn: Message[] = []
  const older: Message[] = []
  let turnSize = 0
  let olderSize = 0
  let turnOpen = true
  const room = (): number => budget - (turn.at(-1)?.role === 'user' ? cost(turn.at(-1) as Message) : 0)

  /** A run without an input looks for the one that it continues as far as the budget goes. */
  const isOfTurn = (message: Message): boolean =>
    turnOpen && (message.runId === currentRun || (turn.at(-1)?.role !== 'user' && turnSize <= budget))

  function take(message: Message): void {
    if (isOfTurn(message)) {
      turn.push(message)
      turnSize += cost(message)
    } else {
      turnOpen = false
      older.push(message)
      olderSize += cost(message)
    }
  }

  return {
    add(page) {
      for (const message of page) take(message)
      return !turnOpen && olderSize > room() && older.some(beginsRound)
    },
    wanted() {
      const count = turn.length + older.length
      const average = count === 0 ? TYPICAL_COST : (turnSize + olderSize) / count
      const more = Math.ceil((room() - olderSize) / average)
      return Math.max(turnOpen ? TURN_PAGE : 1, more)
    },
    messages() {
      if (older.length === 0 || olderSize <= room()) return [...turn, ...older].reverse()
      const kept = [...turn, ...older.slice(0, cutAt(older, room()))].reverse()
      return [cutMessage(kept), ...kept]
    },
  }
}

/** How many of the newest messages stay. */
function cutAt(newestFirst: readonly Message[], budget: number): number {
  if (budget <= 0) return 0
  const boundaries: { count: number; size: number; message: Message }[] = []
  let size = 0
  for (const [index, message] of newestFirst.entries()) {
    size += cost(message)
    if (size > budget && boundaries.length > 0) break
    if (beginsRound(message)) boundaries.push({ count: index + 1, size, message })
  }
  const roomy = boundaries.filter((boundary) => boundary.size >= budget * LEAST_SHARE)
  const inputs = roomy.filter(({ message }) => message.role === 'user')
  const candidates = inputs.length > 0 ? inputs : roomy.length > 0 ? roomy : boundaries.slice(-1)
  const [first, ...others] = candidates
  if (first === undefined) return newestFirst.length
  return others.reduce((best, other) => (hash(other.message.id) < hash(best.message.id) ? other : best), first).count
}

/** A leader's message before which nothing belongs to it. */
const beginsRound = (message: Message): boolean => message.role !== 'tool' && isLeaders(message)

function cutMessage(kept: readonly Message[]): UserMessage {
  const first = kept[0]
  return {
    id: '0'.repeat(26),
    runId: '',
    agent: first?.agent ?? '',
    role: 'user',
    round: 0,
    createdAt: first?.createdAt ?? 0,
    parts: [{ type: 'text', text: CUT_NOTE }],
  }
}

function cost(message: Message): number {
  const parts: readonly Part[] = message.parts
  const text = parts.reduce((sum, part) => sum + partCost(part), MESSAGE_COST)
  if (message.role !== 'assistant') return text
  return message.toolCalls.reduce((sum, call) => sum + call.name.length + call.arguments.length + MESSAGE_COST, text)
}

function partCost(part: Part): number {
  if ('text' in part) return part.type === 'error' ? 0 : part.text.length
  return part.type === 'tool_call' ? 0 : MEDIA_COST
}

/**
 * FNV-1a, 32 bits, and the last step of MurmurHash3. Ids of one millisecond differ in their last characters only, and without
 * that step their hashes rise and fall with them: the cut moved up to twice as often as by chance.
 */
function hash(id: string): number {
  let value = 0x811c9dc5
  for (let at = 0; at < id.length; at++) value = Math.imul(value ^ id.charCodeAt(at), 0x01000193)
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b)
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35)
  return (value ^ (value >>> 16)) >>> 0
}
