import * as z from 'zod'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { Thread } from './thread.ts'

/**
 * A file of a message. If `mode` is not `hosted` or `snippet` (but `external` or `tombstone`), Slack does not have its
 * bytes.
 */
export interface SlackFile {
  readonly name: string
  readonly mediaType: string
  readonly url?: string
  readonly bytes?: number
}

/** A person's message, which may become an input. */
export interface SlackMessage extends Thread {
  readonly type: 'message'
  readonly ts: string
  readonly user: string
  readonly text: string
  readonly files: readonly SlackFile[]
  readonly isDirect: boolean
  /** Whether Slack itself reports that the bot is mentioned. */
  readonly isMention: boolean
}

export type SlackEvent =
  | SlackMessage
  /** A message with more text or files than Slack's own clients can send. */
  | { readonly type: 'too_large'; readonly team: string; readonly fields: readonly string[] }
  /** A person pressed Slack's Stop button. `id`: the event's id, the same for each repetition. */
  | (Thread & { readonly type: 'stopped'; readonly id: string; readonly user: string })
  | { readonly type: 'home_opened'; readonly team: string; readonly channel: string }

const team = z.string().regex(/^[TE][A-Z0-9]{1,30}$/)
const channel = z.string().regex(/^[CDG][A-Z0-9]{1,30}$/)
const user = z.string().regex(/^[UW][A-Z0-9]{1,30}$/)
const ts = z.string().regex(/^\d{1,12}\.\d{1,9}$/)

const envelope = z.object({ team_id: team, event: z.record(z.string(), z.unknown()) })

/**
 * Limits of a row in the outbox (decision record 29): characters, and bytes of the stored JSON. Most characters take
 * one to three bytes, control characters six.
 */
const MAX_TEXT_CHARACTERS = 80_000
const MAX_TEXT_BYTES = 250_000
const MAX_FILES_BYTES = 120_000
const MAX_FILES = 50
const MAX_URL_CHARACTERS = 2_000
const MAX_NAME_CHARACTERS = 200

/** A limit of bytes, with the same error as other limits. */
const within =
  (bytes: number) =>
  (value: unknown, context: z.RefinementCtx): void => {
    if (Buffer.byteLength(JSON.stringify(value)) > bytes)
      context.addIssue({ code: 'too_big', origin: 'string', maximum: bytes })
  }

const address = z.string().max(MAX_URL_CHARACTERS).nullish().catch(undefined)

const file = z
  .object({
    name: z.string().nullish(),
    mimetype: z.string().nullish(),
    url_private_download: address,
    url_private: address,
    size: z.number().nullish(),
  })
  .transform((one): SlackFile => {
    const url = one.url_private_download ?? one.url_private ?? undefined
    return {
      name: (one.name ?? 'file').slice(0, MAX_NAME_CHARACTERS),
      mediaType: (one.mimetype ?? 'application/octet-stream').slice(0, MAX_NAME_CHARACTERS),
      ...definedFields({ url }),
      ...(typeof one.size === 'number' ? { bytes: one.size } : {}),
    }
  })

const message = z.object({
  type: z.enum(['message', 'app_mention']),
  subtype: z.enum(['file_share', 'thread_broadcast']).optional(),
  // Messages of bots and edited messages are not new input.
  bot_id: z.undefined().optional(),
  edited: z.undefined().optional(),
  user,
  channel,
  channel_type: z.string().optional(),
  text: z.string().max(MAX_TEXT_CHARACTERS).superRefine(within(MAX_TEXT_BYTES)).default(''),
  ts,
  thread_ts: ts.optional(),
  files: z.array(file).max(MAX_FILES).superRefine(within(MAX_FILES_BYTES)).default([]),
})

const stopped = z.object({
  event_id: z.string().min(1).max(200),
  event: z.object({ type: z.literal('agent_session_stopped'), channel, thread_ts: ts, user }),
})
const opened = z.object({ type: z.literal('app_home_opened'), tab: z.literal('messages'), channel })

/** Reads an `event_callback`. Returns undefined for ignored events and for payloads that do not have Slack's format. */
export function readEvent(payload: unknown): SlackEvent | undefined {
  const enveloped = envelope.safeParse(payload)
  if (!enveloped.success) return undefined
  const { team_id: of, event } = enveloped.data
  switch (event['type']) {
    case 'message':
    case 'app_mention':
      return readMessage(of, event)
    case 'agent_session_stopped': {
      const { data } = stopped.safeParse(payload)
      if (data === undefined) return undefined
      const { channel: where, thread_ts: thread, user: who } = data.event
      return { type: 'stopped', id: data.event_id, team: of, channel: where, thread, user: who }
    }
    case 'app_home_opened': {
      const { data } = opened.safeParse(event)
      return data && { type: 'home_opened', team: of, channel: data.channel }
    }
    default:
      return undefined
  }
}

function readMessage(of: string, event: object): SlackEvent | undefined {
  const { data, error } = message.safeParse(event)
  if (data === undefined) {
    const isOnlyTooLarge = error.issues.every(({ code }) => code === 'too_big')
    const fields = error.issues.map(({ path }) => path.join('.'))
    return isOnlyTooLarge ? { type: 'too_large', team: of, fields } : undefined
  }
  return {
    type: 'message',
    team: of,
    channel: data.channel,
    thread: data.thread_ts ?? data.ts,
    ts: data.ts,
    user: data.user,
    text: data.text,
    files: data.files,
    isDirect: data.channel_type === 'im' || data.channel.startsWith('D'),
    isMention: data.type === 'app_mention',
  }
}
