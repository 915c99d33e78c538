import { OPEN_STATUSES } from '../../../functions/domain/messages/message.ts'
import type { Message, ToolMessage } from '../../../functions/domain/messages/message.ts'
import { must } from './harness.ts'

/** Checks that a member gets its task once and completes once. When its delegate call completes, the member has no open call. */
export function checkDelegation(row: ToolMessage, messages: readonly Message[]): void {
  const own = messages.filter(({ parentMessageId }) => parentMessageId === row.id)
  must('a member gets its task once', own.filter(({ role }) => role === 'user').length <= 1, row.id)
  const last = own.filter((one) => one.role === 'assistant' && one.toolCalls.length === 0)
  must('a member ends once', last.length <= 1, row.id)
  if (row.status !== 'completed') return
  must('what a member came to is its last word', last.length === 1 && own.at(-1) === last[0], row.id)
  const open = own.find((one) => one.role === 'tool' && OPEN_STATUSES.includes(one.status))
  must('a member that has ended has no open calls', open === undefined, open?.id)
}
