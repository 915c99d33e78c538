import type { Feedback } from '../domain/messages/feedback.ts'
import type { SessionKey } from '../domain/session.ts'

/** What people think of completions, kept with their messages. */
export interface MessageFeedback {
  /**
   * Stores a rating with an assistant message, durably when it resolves, as `withFeedback` says; safe to repeat. Needs no lease:
   * it may come at any time after the message. Returns false, and stores nothing, if the session has no such message, or is deleted.
   */
  give(key: SessionKey, messageId: string, feedback: Feedback): Promise<boolean>
}
