import type { ToolMessage } from '../../domain/messages/message.ts'

/**
 * The id of a leader's call, for formats that keep the calls of all rounds. Models reuse call ids, so later rounds get
 * a suffix.
 */
export const roundCallId = ({ toolCallId, round }: Pick<ToolMessage, 'toolCallId' | 'round'>): string =>
  round === 0 ? toolCallId : `${toolCallId}~${round}`

/** The id of any call; for a member's call, the id of its row. */
export const clientCallId = (call: Pick<ToolMessage, 'id' | 'toolCallId' | 'round' | 'parentToolCallId'>): string =>
  call.parentToolCallId === undefined ? roundCallId(call) : call.id
