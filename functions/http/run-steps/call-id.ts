import type { ToolMessage } from '../../domain/messages/message.ts'

/** The id of a leader's call in a format that keeps the calls of all rounds: models use their ids again. */
export const roundCallId = ({ toolCallId, round }: Pick<ToolMessage, 'toolCallId' | 'round'>): string =>
  round === 0 ? toolCallId : `${toolCallId}~${round}`

/** The id of any call: a member's is its row's. */
export const clientCallId = (call: Pick<ToolMessage, 'id' | 'toolCallId' | 'round' | 'parentToolCallId'>): string =>
  call.parentToolCallId === undefined ? roundCallId(call) : call.id
