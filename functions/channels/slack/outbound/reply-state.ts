import * as z from 'zod'
import type { JsonObject } from '../../../domain/json.ts'

/** One message of the reply. Without a `ts`, it was intended, and nobody knows what came of it. */
const part = z.object({
  /** Where its text begins in the answer, and, once that is fixed, where it ends. */
  from: z.int(),
  to: z.int().optional(),
  /** It was begun as a stream. */
  stream: z.literal(true).optional(),
  ts: z.string().optional(),
  /** A hash of what it said when it was finished. */
  done: z.string().optional(),
})
const post = z.object({ ts: z.string().optional(), done: z.literal(true).optional() })
const file = z.object({
  id: z.string(),
  url: z.string(),
  /** A hash of its text. Absent in rows of older versions. */
  says: z.string().optional(),
  done: z.literal(true).optional(),
})

const replyState = z.object({
  parts: z.array(part).default([]),
  /** Notices and remainders by their names. */
  posts: z.record(z.string(), post).default({}),
  /** The newest file of a long reply, with all of its text so far. */
  file: file.optional(),
})

export type PartState = z.output<typeof part>
export type ReplyState = z.output<typeof replyState>

export const readState = (state: JsonObject): ReplyState => replyState.parse(state)

/** As it is stored. */
export const stateJson = (state: ReplyState): JsonObject => JSON.parse(JSON.stringify(state)) as JsonObject

/** Whether something was intended whose outcome is not recorded. */
export const isUncertain = ({ parts, posts, file: whole }: ReplyState): boolean =>
  parts.some(({ ts }) => ts === undefined) ||
  Object.values(posts).some(({ ts }) => ts === undefined) ||
  (whole !== undefined && whole.done !== true)

const target = z.object({
  team: z.string(),
  channel: z.string(),
  thread: z.string(),
  /** The message that is answered, and its author. */
  ts: z.string(),
  user: z.string(),
})

/** Where a reply goes. */
export type Target = z.output<typeof target>

export const readTarget = (json: JsonObject): Target => target.parse(json)
