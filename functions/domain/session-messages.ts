import { isLeaders } from './messages/message.ts'
import type { Message } from './messages/message.ts'

/**
 * The counts and times of the messages in a session's log. Times are in milliseconds since 1970; they are absent if the
 * log is empty.
 */
export interface SessionMessages {
  /** Number of inputs and of the leader's assistant messages. */
  readonly count: number
  /** The earliest and latest `createdAt` of all messages; an imported message keeps its source's time. */
  readonly firstAt?: number
  readonly lastAt?: number
}

/** The values for an empty log. */
export const NO_MESSAGES: SessionMessages = { count: 0 }

/** Returns the values after these messages were appended. */
export function withMessages(before: SessionMessages, messages: readonly Message[]): SessionMessages {
  let { count, firstAt, lastAt } = before
  for (const message of messages) {
    if (isCounted(message)) count++
    firstAt = Math.min(firstAt ?? message.createdAt, message.createdAt)
    lastAt = Math.max(lastAt ?? message.createdAt, message.createdAt)
  }
  return firstAt === undefined || lastAt === undefined ? { count } : { count, firstAt, lastAt }
}

/** Whether `message_count` counts this message: an input, or an assistant message of the leader. */
export const isCounted = (message: Message): boolean => message.role !== 'tool' && isLeaders(message)
