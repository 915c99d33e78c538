import * as z from 'zod'
import { sha256 } from '../../../domain/hash.ts'
import type { NewDelivery } from '../../../domain/delivery.ts'
import { ULID_PATTERN } from '../../../domain/ids.ts'
import type { JsonObject } from '../../../domain/json.ts'

/** The kind of deliveries that record a pressed button with its person and time. Each is executed once. */
const ACTION_KIND = 'slack-action'

const ulid = z.string().regex(ULID_PATTERN)
const place = {
  team: z.string(),
  channel: z.string(),
  thread: z.string(),
  /** The timestamp of the message that has the button. `user` is the person who pressed it. */
  ts: z.string(),
  user: z.string(),
}

const action = z.discriminatedUnion('action', [
  z.object({ ...place, action: z.literal('retry'), run: ulid }),
  z.object({ ...place, action: z.enum(['approve', 'deny']), run: ulid, call: ulid }),
])

/** A pressed button that requests an action. */
export type Action = z.output<typeof action>

const rating = z.enum(['positive', 'negative'])

/** A pressed feedback button; `at`: the time, in milliseconds since 1970. */
const feedback = z.object({ ...place, action: z.literal('feedback'), run: ulid, rating, at: z.number() })

export type FeedbackPress = z.output<typeof feedback>

const timestamp = z.string().regex(/^\d{1,12}\.\d{1,9}$/)

const interaction = z.object({
  type: z.literal('block_actions'),
  team: z.object({ id: z.string().regex(/^[TE][A-Z0-9]{1,30}$/) }),
  user: z.object({ id: z.string().regex(/^[UW][A-Z0-9]{1,30}$/) }),
  channel: z.object({ id: z.string().regex(/^[CDG][A-Z0-9]{1,30}$/) }),
  message: z.object({ ts: timestamp, thread_ts: timestamp.optional() }),
  actions: z
    .array(z.object({ action_id: z.string(), value: z.string().max(200), action_ts: timestamp.optional() }))
    .min(1),
})

/** Reads a pressed button; undefined if it is not one of ours. */
export function readPress(payload: unknown): Action | FeedbackPress | undefined {
  const { data } = interaction.safeParse(payload)
  const [pressed] = data?.actions ?? []
  const [, name] = /^tooltrail_(retry|approve|deny|feedback)$/.exec(pressed?.action_id ?? '') ?? []
  if (data === undefined || pressed === undefined || name === undefined) return undefined
  const [run, subject] = pressed.value.split('.')
  const { message } = data
  const where = {
    action: name,
    run,
    team: data.team.id,
    channel: data.channel.id,
    thread: message.thread_ts ?? message.ts,
    ts: message.ts,
    user: data.user.id,
  }
  if (name !== 'feedback') return action.safeParse({ ...where, call: subject }).data
  const at = pressed.action_ts === undefined ? undefined : Math.round(Number(pressed.action_ts) * 1_000)
  return feedback.safeParse({ ...where, rating: subject, at }).data
}

/** The id of the row that records an action of a run: a retry, or the decision on a call. */
export const actionId = (run: string, what: string): string => `${run}.${Number.parseInt(sha256(what).slice(0, 8), 16)}`

export const actionDelivery = (one: Action): NewDelivery => ({ kind: ACTION_KIND, target: { ...one } })

export const actionOf = (target: JsonObject): Action => action.parse(target)
