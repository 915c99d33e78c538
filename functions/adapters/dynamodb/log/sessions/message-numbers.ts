import { isCounted, type SessionMessages } from '../../../../domain/session-messages.ts'
import type { Message } from '../../../../domain/messages/message.ts'
import { numberAt, type Item } from '../../attributes.ts'
import type { Change } from '../../expressions.ts'

/*
 * A header has `messages` (the number of inputs and completions), and `first_at` and `last_at` (the times of the
 * earliest and the latest message). `imported_at` is the time of the latest imported message. Messages that are
 * appended after the import may have earlier times.
 */

/** Returns the message counts and times of a header. */
export function messagesOf(header: Item): SessionMessages {
  const [firstAt, lastAt] = [numberAt(header, 'first_at'), lastMessageAt(header)]
  const count = numberAt(header, 'messages') ?? 0
  return firstAt === undefined || lastAt === undefined ? { count } : { count, firstAt, lastAt }
}

/** Returns the latest of the times in the header and of the times of these messages. */
export function lastMessageAt(header: Item, messages: readonly (Message | undefined)[] = []): number | undefined {
  const added = messages.map((message) => message?.createdAt)
  const times = [numberAt(header, 'last_at'), numberAt(header, 'imported_at'), ...added]
  return times.reduce((latest, time) => latestOf(latest, time), undefined)
}

/**
 * Counts messages that a run appends, without reading the header. Their times are not earlier than those of the
 * previous run.
 */
export function countMessages(messages: readonly Message[]): Change {
  if (messages.length === 0) return {}
  const times = messages.map(({ createdAt }) => createdAt)
  return {
    set: { last_at: Math.max(...times) },
    setIfAbsent: { first_at: Math.min(...times) },
    add: { messages: messages.filter(isCounted).length },
  }
}

/** Counts imported messages. Their times may be before or after those of all others. */
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

/** Sets the counts and times of a header to those that remain after a replacement. */
export const replaceNumbers = ({ count, firstAt, lastAt }: SessionMessages): Change => ({
  set: { messages: count, first_at: firstAt, last_at: lastAt },
  remove: ['imported_at', ...(firstAt === undefined ? ['first_at'] : []), ...(lastAt === undefined ? ['last_at'] : [])],
})

const latestOf = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || (other !== undefined && other > one) ? other : one
