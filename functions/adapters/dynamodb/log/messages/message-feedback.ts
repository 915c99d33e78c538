import { withFeedback } from '../../../../domain/messages/feedback.ts'
import { isUlid } from '../../../../domain/ids.ts'
import type { MessageFeedback } from '../../../../ports/message-feedback.ts'
import { textAt } from '../../attributes.ts'
import { absent, all, is } from '../../expressions.ts'
import { headerKey, messageKey } from '../../keys.ts'
import { isLive } from '../sessions/header-item.ts'
import { changeMessage, jsonText, messageOf } from './message-item.ts'
import { createSessionRows, type DynamoDependencies } from '../sessions/session-rows.ts'

/** Creates the store of feedback on DynamoDB: an attribute of the message's item. */
export function createDynamoMessageFeedback(dependencies: DynamoDependencies): MessageFeedback {
  const { table, bodies } = createSessionRows(dependencies)
  return {
    async give(key, messageId, feedback) {
      if (!isUlid(messageId)) return false
      for (;;) {
        const [header, item] = await table.readMany([headerKey(key), messageKey(key, messageId)])
        const message = item && (await messageOf(bodies, key, item))
        if (!isLive(header) || item === undefined || message?.role !== 'assistant') return false
        const next = withFeedback(message.feedback ?? [], feedback)
        if (next === undefined) return true
        const former = textAt(item, 'feedback')
        const unchanged = former === undefined ? absent('feedback') : is('feedback', former)
        const change = changeMessage({ set: { feedback: jsonText(next) } })
        // The write fails if other feedback was stored after the read, or if the row was deleted. In both cases, read
        // the row again.
        const { done } = await table.update(messageKey(key, messageId), all(is('role', 'assistant'), unchanged), change)
        if (done) return true
      }
    },
  }
}
