import { isDeepStrictEqual } from 'node:util'
import { unrated } from '../../../../domain/messages/message.ts'
import type { Message, ToolStatus } from '../../../../domain/messages/message.ts'
import { readJson } from '../../../../log/json/exact-json.ts'

/** The fields of a message that are separate columns, so that queries can use them. */
export interface MessageColumns extends Pick<Message, 'id' | 'runId' | 'role' | 'agent'> {
  readonly status?: ToolStatus
  readonly generation?: number
}

/** Encodes the fields that have no column of their own. JSON preserves NUL and lone surrogates. */
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

/** Decodes a message from its columns and its text. `encodeBody` wrote the text from a message of this role. */
export const decodeBody = (columns: MessageColumns, body: string): Message =>
  ({ ...columns, ...(readJson(body) as object) }) as Message

/** Whether a stored message equals one that is about to be stored, apart from ratings. */
export function isSameMessage(stored: Message | undefined, message: Message): boolean {
  return stored !== undefined && isDeepStrictEqual(asJson(unrated(stored)), asJson(message))
}

const asJson = (message: Message): unknown => readJson(JSON.stringify(message))
