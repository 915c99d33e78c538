import type { ToolMessage } from '../../domain/messages/message.ts'
import type { RunNotice, WarningCode } from '../../domain/runs/run.ts'
import { memberNames } from './thread.ts'
import type { Thread } from './thread.ts'
import type { NewNotice } from './writer/run-writer.ts'

/*
 * Each function builds one kind of notice. The writer adds the notice's place in the log. `noticeEvents` derives equal
 * events from a live notice and from the same notice in the log.
 */

/** A warning for followers of a run, about the request or the calls of a thread. */
export const warning = (thread: Thread, code: WarningCode, detail: string): NewNotice => ({
  type: 'warning',
  code,
  detail,
  ...memberNames(thread),
})

/** Whether a run has recorded this warning. */
export const isWarned = (notices: readonly RunNotice[], detail: string): boolean =>
  notices.some((notice) => notice.type === 'warning' && notice.detail === detail)

/** The conversation has nearly as many messages as the threshold of a summary. */
export const nearlyFull = (messages: number, threshold: number): NewNotice => ({
  type: 'context.nearly_full',
  messages,
  threshold,
})

/** A summary replaces the conversation up to the message `through`. */
export const consolidated = (through: string, messages: number): NewNotice => ({
  type: 'context.consolidated',
  through,
  messages,
})

/** Marks the position at which followers see the end events of these calls, which clients resolved. */
export const callsResolved = (calls: readonly ToolMessage[]): NewNotice => ({
  type: 'calls.resolved',
  calls: calls.map(({ id }) => id),
})
