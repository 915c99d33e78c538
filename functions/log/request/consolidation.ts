import type { Consolidation } from '../../domain/agent.ts'
import { cutBefore } from '../../domain/session-title.ts'
import { isLeaders, textOf } from '../../domain/messages/message.ts'
import type { Message } from '../../domain/messages/message.ts'
import { isConversational, summaryText } from './request-context.ts'
import { weighText } from './token-weight.ts'

/** Maximum number of requests per consolidation. If a conversation is longer, only the newest part is read. */
const MAX_REQUESTS = 4
/** Consumers are warned when the threshold is at most this many messages away. */
const NEARLY = 2

/**
 * Whether a summary is due: more conversational messages follow the last summary than the threshold allows, and the policy keeps
 * only a part of them.
 */
export const isDue = ({ threshold, keepRecentRatio }: Consolidation, count: number): boolean =>
  count > threshold && keepRecentRatio < 1

/** Whether the threshold is near or reached. */
export const isNearlyFull = ({ threshold }: Consolidation, count: number): boolean => count >= threshold - NEARLY

/** Whether a summary is near but not due yet. */
export const isSoonDue = (policy: Consolidation, count: number): boolean =>
  policy.keepRecentRatio < 1 && isNearlyFull(policy, count) && !isDue(policy, count)

/** Returns how many of the newest conversational messages are not summarized. */
export const keptCount = ({ threshold, keepRecentRatio }: Consolidation): number =>
  Math.max(1, Math.floor(threshold * keepRecentRatio + 1e-9))

/** The part of the conversation that a summary will replace in requests. */
export interface Consolidated {
  /** The last message that the summary replaces. */
  readonly through: string
  /** Number of conversational messages that the summary replaces, without those of the previous summary. */
  readonly messages: number
  /** The text to summarize, in parts, oldest part first. Each part fits a request. */
  readonly parts: readonly string[]
  /** Counts of the loaded messages after `through`: all of them, and the conversational ones. */
  readonly after: { readonly messages: number; readonly conversational: number }
}

export interface Collector {
  /** Adds a message. Messages must be added newest first. */
  add(message: Message): void
  /** Returns the collected part; undefined if every message is kept. */
  collected(): Consolidated | undefined
}

/**
 * Collects the messages that a consolidation summarizes, from the newest message before the current turn back to the last
 * summary. The newest conversational messages are kept, with all messages after the first kept one, so that no round is split. A
 * round contributes its calls, with pointers to their results. Memory is bounded by the parts, not by the log. `budget`: maximum
 * tokens of a part.
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

/** Returns the message that requests a summary of one part. It contains the summary of everything before this part. */
export function summaryRequestText(part: string, former: string | undefined): string {
  const before = former === undefined ? '' : `${summaryText(former)}\n`
  return `${before}<conversation>\n${part}\n</conversation>`
}

/** Returns a message's line in the text to summarize. A tool event has its call and its pointer, never the result. */
function lineOf(message: Message): string | undefined {
  if (message.role === 'tool') return `TOOL CALL: ${message.call} (${message.status}) → output:${message.id}`
  const text = textOf(message.parts).trim()
  if (text === '') return undefined
  return `${message.role === 'user' ? 'USER' : 'ASSISTANT'}: ${text}`
}

/** Truncates a line that is longer than a part. A token has at least half a character. */
const clip = (line: string, budget: number): string =>
  weighText(line) <= budget ? line : `${cutBefore(line, Math.floor(budget / 2))} …`
