import { isDeepStrictEqual } from 'node:util'
import { unrated } from '../../../../domain/messages/message.ts'
import type { Message, ToolStatus } from '../../../../domain/messages/message.ts'

/** What a row says in columns of its own, so that queries can look at it. */
export interface MessageColumns extends Pick<Message, 'id' | 'runId' | 'role' | 'agent'> {
  readonly status?: ToolStatus
  readonly generation?: number
}

/** The fields that a row keeps as text: JSON, so that NUL and lone surrogates come back as they were. */
export function encodeBody(message: Message): string {
  const columns: Record<keyof MessageColumns, undefined> = {
    id: undefined,
    runId: undefined,
    role: undefined,
    agent: undefined,
    status: undefined,
    generation: undefined,
  }
  return JSON.stringify({ ...message, ...columns })
}

/** The message whose columns and text these are: `encodeBody` wrote the text from a message of this role. */
export const decodeBody = (columns: MessageColumns, body: string): Message =>
  ({ ...columns, ...(JSON.parse(body) as object) }) as Message

/** Whether a stored message, which may have been rated since, says the same as one that is about to be stored. */
export function isSameMessage(stored: Message | undefined, message: Message): boolean {
  return stored !== undefined && isDeepStrictEqual(asJson(unrated(stored)), asJson(message))
}

const asJson = (message: Message): unknown => JSON.parse(JSON.stringify(message))
