import { withFeedback } from '../../../../domain/messages/feedback.ts'
import type { MessageFeedback } from '../../../../ports/message-feedback.ts'
import { findMessage, updateBody } from './message-rows.ts'
import { findLiveSession } from '../sessions/session-rows.ts'
import { writeLog, type LogDependencies } from '../write.ts'

/** Creates the store of feedback on SQLite; feedback is a part of the message's row. */
export function createSqliteMessageFeedback(dependencies: LogDependencies): MessageFeedback {
  const { database } = dependencies
  return {
    give: (key, messageId, feedback) =>
      writeLog(dependencies, () => {
        const session = findLiveSession(database, key)
        const message = session && findMessage(database, session.number, messageId)
        if (session === undefined || message?.role !== 'assistant') return false
        const next = withFeedback(message.feedback ?? [], feedback)
        if (next !== undefined) updateBody(database, session.number, { ...message, feedback: next })
        return true
      }),
  }
}
