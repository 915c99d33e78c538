import { definedFields } from '../../../domain/defined-fields.ts'
import type { Rating } from '../../../domain/messages/feedback.ts'
import type { Json, JsonObject } from '../../../domain/json.ts'
import type { ToolMessage } from '../../../domain/messages/message.ts'
import { userOf } from '../inbound/thread.ts'
import type { Thread } from '../inbound/thread.ts'
import { escaped } from './text.ts'

/** The action of a button. Its value names the run, and the call if there is one. */
type Button = 'tooltrail_retry' | 'tooltrail_approve' | 'tooltrail_deny'

const section = (text: string): JsonObject => ({ type: 'section', text: { type: 'mrkdwn', text } })

const button = (action: Button, label: string, value: string, style?: 'primary' | 'danger'): Json => ({
  type: 'button',
  action_id: action,
  text: { type: 'plain_text', text: label },
  value,
  ...definedFields({ style }),
})

/** A message of plain text. */
export const plain = (text: string): JsonObject => ({ text, blocks: [section(text)] })

/**
 * Limit of a message's plain text, in characters. Clients that cannot show blocks show this text. `chat.update` accepts
 * 4,000 characters.
 */
const MAX_SUMMARY_CHARACTERS = 3_000

/** The feedback buttons below an answer. Slack shows each person's choice. */
export function feedbackBlock(run: string): JsonObject {
  const choice = (rating: Rating, label: string): JsonObject => ({
    text: { type: 'plain_text', text: label },
    accessibility_label: label,
    value: `${run}.${rating}`,
  })
  const [good, bad] = [choice('positive', 'Good answer'), choice('negative', 'Bad answer')]
  const buttons = {
    type: 'feedback_buttons',
    action_id: 'tooltrail_feedback',
    positive_button: good,
    negative_button: bad,
  }
  return { type: 'context_actions', elements: [buttons] }
}

/** A Markdown text of at most 12,000 characters, with a block below it. */
export const withBlock = (markdown: string, block: JsonObject): JsonObject => ({
  text: markdown.slice(0, MAX_SUMMARY_CHARACTERS).toWellFormed(),
  blocks: [{ type: 'markdown', text: markdown }, block],
})

/** A notice that a run has failed. The reason is only for operators: a provider's error text must not be shown here. */
export const failure = (run: string): JsonObject => {
  const text = 'Something went wrong, and there is no answer.'
  return { text, blocks: [section(text), { type: 'actions', elements: [button('tooltrail_retry', 'Retry', run)] }] }
}

/** Asks whether a tool may be called. The call's arguments are not shown. */
export const approval = (run: string, call: string, tool: string): JsonObject => {
  const text = `*${escaped(tool)}* needs an approval before it runs.`
  const value = `${run}.${call}`
  const elements = [
    button('tooltrail_approve', 'Approve', value, 'primary'),
    button('tooltrail_deny', 'Deny', value, 'danger'),
  ]
  return { text, blocks: [section(text), { type: 'actions', elements }] }
}

/**
 * Replaces the buttons of an approval with the decision. If the decision was made in this workspace, names the person
 * who made it.
 */
export function decided(place: Pick<Thread, 'team'>, { toolName, decision }: ToolMessage): JsonObject {
  const name = `*${escaped(toolName)}*`
  if (decision === undefined) return plain(`${name} needs no approval any more.`)
  const prefix = userOf(place, '')
  const user = decision.by?.startsWith(prefix) === true ? decision.by.slice(prefix.length) : undefined
  return plain(`${name} was ${decision.approved ? 'approved' : 'denied'}${user === undefined ? '' : ` by <@${user}>`}.`)
}
