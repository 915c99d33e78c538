import type { Feedback } from '../domain/messages/feedback.ts'
import type { SessionKey } from '../domain/session.ts'

/** Stores people's ratings of completions with their messages. */
export interface MessageFeedback {
  /**
   * Stores a rating with an assistant message, as `withFeedback` does. Durable when it resolves, and safe to repeat.
   * Needs no lease, because a rating may come at any time after the message. Returns false, and stores nothing, if the
   * message does not exist or the session is deleted.
   */
  give(key: SessionKey, messageId: string, feedback: Feedback): Promise<boolean>
}
