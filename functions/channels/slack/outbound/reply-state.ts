import * as z from 'zod'
import type { JsonObject } from '../../../domain/json.ts'

/**
 * One message of the reply. A message without `ts` was recorded before it was posted; whether Slack received it is
 * unknown.
 */
const part = z.object({
  /** Positions in the answer at which the message's text starts and ends. The end is absent until it can no longer change. */
  from: z.int(),
  to: z.int().optional(),
  /** Whether the message was started as a stream. */
  stream: z.literal(true).optional(),
  ts: z.string().optional(),
  /** A hash of the message's text when the message was finished. */
  done: z.string().optional(),
})
const post = z.object({ ts: z.string().optional(), done: z.literal(true).optional() })
const file = z.object({
  id: z.string(),
  url: z.string(),
  /** A hash of the file's text. Absent in rows of older versions. */
  says: z.string().optional(),
  done: z.literal(true).optional(),
})

const replyState = z.object({
  parts: z.array(part).default([]),
  /** Separate messages, by name: notices, and the rest of each text whose own message could not be edited. */
  posts: z.record(z.string(), post).default({}),
  /** The newest file of a long reply, with its whole text so far. */
  file: file.optional(),
})

export type PartState = z.output<typeof part>
export type ReplyState = z.output<typeof replyState>

export const readState = (state: JsonObject): ReplyState => replyState.parse(state)

/** The state as it is stored. */
export const stateJson = (state: ReplyState): JsonObject => JSON.parse(JSON.stringify(state)) as JsonObject

/** Whether the outcome of a recorded post or upload is unknown. */
export const isUncertain = ({ parts, posts, file: whole }: ReplyState): boolean =>
  parts.some(({ ts }) => ts === undefined) ||
  Object.values(posts).some(({ ts }) => ts === undefined) ||
  (whole !== undefined && whole.done !== true)

const target = z.object({
  team: z.string(),
  channel: z.string(),
  thread: z.string(),
  /** The timestamp of the message to answer, and its author. */
  ts: z.string(),
  user: z.string(),
})

/** The thread and message that a reply answers. */
export type Target = z.output<typeof target>

export const readTarget = (json: JsonObject): Target => target.parse(json)
