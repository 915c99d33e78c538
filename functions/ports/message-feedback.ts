import type { Feedback } from '../domain/messages/feedback.ts'
import type { SessionKey } from '../domain/session.ts'

/** Stores people's ratings of completions. Each rating is stored with the rated message. */
export interface MessageFeedback {
  /**
   * Stores a rating with an assistant message (`withFeedback`). The rating is durable when this resolves; the call is safe to
   * repeat. It needs no lease, because a message may be rated at any time. Returns false, and stores nothing, if the message does
   * not exist or the session is deleted.
   */
  give(key: SessionKey, messageId: string, feedback: Feedback): Promise<boolean>
}
