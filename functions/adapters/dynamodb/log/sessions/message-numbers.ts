import { isCounted, type SessionMessages } from '../../../../domain/session-messages.ts'
import type { Message } from '../../../../domain/messages/message.ts'
import { numberAt, type Item } from '../../attributes.ts'
import type { Change } from '../../expressions.ts'

/*
 * A header has `messages` (the number of inputs and completions), `first_at` and `last_at` (the times of the earliest and the
 * latest message), and `imported_at` (the time of the latest imported message, which may lie after those of later messages).
 */

/** The numbers of messages that a header holds. */
export function messagesOf(header: Item): SessionMessages {
  const [firstAt, lastAt] = [numberAt(header, 'first_at'), lastMessageAt(header)]
  const count = numberAt(header, 'messages') ?? 0
  return firstAt === undefined || lastAt === undefined ? { count } : { count, firstAt, lastAt }
}

/** The time of the latest message, of those in the header and these. */
export function lastMessageAt(header: Item, messages: readonly (Message | undefined)[] = []): number | undefined {
  const added = messages.map((message) => message?.createdAt)
  const times = [numberAt(header, 'last_at'), numberAt(header, 'imported_at'), ...added]
  return times.reduce((latest, time) => latestOf(latest, time), undefined)
}

/** Counts messages that a run appends, without reading the header: their times follow those of the run before. */
export function countMessages(messages: readonly Message[]): Change {
  if (messages.length === 0) return {}
  const times = messages.map(({ createdAt }) => createdAt)
  return {
    set: { last_at: Math.max(...times) },
    setIfAbsent: { first_at: Math.min(...times) },
    add: { messages: messages.filter(isCounted).length },
  }
}

/** Counts imported messages, whose times may lie before and after those of all others. */
export function countImported(header: Item, messages: readonly Message[]): Change {
  const times = messages.map(({ createdAt }) => createdAt)
  return {
    set: {
      first_at: Math.min(...times, numberAt(header, 'first_at') ?? Infinity),
      imported_at: Math.max(...times, numberAt(header, 'imported_at') ?? -Infinity),
    },
    add: { messages: messages.filter(isCounted).length },
  }
}

const latestOf = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || (other !== undefined && other > one) ? other : one
