import type { Consolidation } from '../../domain/agent.ts'
import { isLeaders, textOf } from '../../domain/messages/message.ts'
import type { Message } from '../../domain/messages/message.ts'
import { isConversational, summaryText } from './request-context.ts'
import { weighText } from './token-weight.ts'

/** At most this many requests per consolidation; of a longer conversation only the newest part is read. */
const MAX_REQUESTS = 4
/** Consumers are warned this many messages before the threshold is reached. */
const NEARLY = 2

/** Whether so many conversational messages after the last summary are more than the policy keeps. */
export const isDue = ({ threshold, keepRecentRatio }: Consolidation, count: number): boolean =>
  count > threshold && keepRecentRatio < 1

/** Whether the threshold is near or reached. */
export const isNearlyFull = ({ threshold }: Consolidation, count: number): boolean => count >= threshold - NEARLY

/** Whether a summary is near, and none is due yet. */
export const isSoonDue = (policy: Consolidation, count: number): boolean =>
  policy.keepRecentRatio < 1 && isNearlyFull(policy, count) && !isDue(policy, count)

/** How many conversational messages stay as they are. */
export const keptCount = ({ threshold, keepRecentRatio }: Consolidation): number =>
  Math.max(1, Math.floor(threshold * keepRecentRatio + 1e-9))

/** What a summary will replace in requests. */
export interface Consolidated {
  /** The last message that it replaces. */
  readonly through: string
  /** Conversational messages that it replaces, without those of the previous summary. */
  readonly messages: number
  /** The text to summarize, oldest part first; each part fits a request. */
  readonly parts: readonly string[]
  /** Messages after `through` and conversational ones among them, as far as they were read. */
  readonly after: { readonly messages: number; readonly conversational: number }
}

export interface Collector {
  /** Takes a message; the newest first. */
  add(message: Message): void
  /** Undefined if every message stays. */
  collected(): Consolidated | undefined
}

/**
 * Collects what a consolidation summarises, from the newest message before the current turn back to the last summary. The
 * newest conversational messages stay, and everything after the first of them: the cut never falls inside a round. Rounds
 * contribute their calls and pointers to the results. Memory is bounded by the parts, not by the log. `budget`: tokens of a part.
 */
export function createCollector(policy: Consolidation, budget: number): Collector {
  const kept = keptCount(policy)
  let [stay, stayConversational, messages] = [0, 0, 0]
  let through: string | undefined
  const parts: string[][] = []
  let weight = Infinity
  return {
    add(message) {
      if (!isLeaders(message)) return
      const counts = isConversational(message)
      if (stayConversational < kept) {
        stay++
        if (counts) stayConversational++
        return
      }
      through ??= message.id
      if (counts) messages++
      const line = lineOf(message)
      if (line === undefined) return
      const own = weighText(line)
      if (weight + own > budget) {
        parts.push([])
        weight = 0
      }
      weight += own
      if (parts.length <= MAX_REQUESTS) parts.at(-1)?.push(clip(line, budget))
    },
    collected() {
      if (through === undefined || messages === 0) return undefined
      const read = parts.slice(0, MAX_REQUESTS)
      if (parts.length > MAX_REQUESTS) read.at(-1)?.push('[Older messages are left out here: they are too many.]')
      const texts = read.map((lines) => lines.toReversed().join('\n')).toReversed()
      return { through, messages, parts: texts, after: { messages: stay, conversational: stayConversational } }
    },
  }
}

/** The message that asks for a summary of one part, with the summary of everything before it. */
export function summaryRequestText(part: string, former: string | undefined): string {
  const before = former === undefined ? '' : `${summaryText(former)}\n`
  return `${before}<conversation>\n${part}\n</conversation>`
}

/** What a summary learns about a message: its texts; for a tool event the call and its pointer, never the result. */
function lineOf(message: Message): string | undefined {
  if (message.role === 'tool') return `TOOL CALL: ${message.call} (${message.status}) → output:${message.id}`
  const text = textOf(message.parts).trim()
  if (text === '') return undefined
  return `${message.role === 'user' ? 'USER' : 'ASSISTANT'}: ${text}`
}

/** Cuts a line that is longer than a part. A token has at least half a character. */
const clip = (line: string, budget: number): string =>
  weighText(line) <= budget ? line : `${line.slice(0, Math.floor(budget / 2))} …`
