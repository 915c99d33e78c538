import * as z from 'zod'
import { definedFields } from '../../../domain/defined-fields.ts'
import { attachedFiles, attachmentTexts, ownWords } from './message-text.ts'
import type { Thread } from './thread.ts'

/**
 * A file of a message. Slack has its bytes only if `mode` is `hosted` or `snippet`. Other modes are `external` and
 * `tombstone`.
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
  /** The author's own text. It includes text that only the message's blocks contain. */
  readonly text: string
  /** The texts of attachments and forwarded messages, marked as not the author's own; empty if there are none. */
  readonly attached: string
  readonly files: readonly SlackFile[]
  /** The app that posted the message: a bot, or a person's own client. */
  readonly botId?: string
  readonly isDirect: boolean
  /** Whether the message came in Slack's event for a mention of the bot (`app_mention`). */
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
/** Limit of the text of attachments and forwarded messages, in characters. */
const MAX_ATTACHED_CHARACTERS = 40_000
const CUT_MARK = '… [the rest is left out]'
const MAX_FILES = 50
const MAX_URL_CHARACTERS = 2_000
const MAX_NAME_CHARACTERS = 200

/** Limits the bytes of a value. A larger value gets the same kind of error as a text with too many characters. */
const within =
  (bytes: number) =>
  (value: unknown, context: z.RefinementCtx): void => {
    if (value !== undefined && bytesOf(value) > bytes)
      context.addIssue({ code: 'too_big', origin: 'string', maximum: bytes })
  }

const address = z.string().max(MAX_URL_CHARACTERS).nullish().catch(undefined)

const optionalText = z.string().nullish().catch(undefined)

const file = z
  .object({
    name: optionalText,
    mimetype: optionalText,
    url_private_download: address,
    url_private: address,
    size: z.number().nullish().catch(undefined),
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
  subtype: z.enum(['file_share', 'thread_broadcast']).nullish(),
  // Slack sets this field in messages of bots, and in messages that a person's own client posts.
  bot_id: optionalText,
  // Edited messages are ignored, because they are not new.
  edited: z.undefined().optional(),
  user,
  channel,
  channel_type: z.string().optional(),
  text: z.string().max(MAX_TEXT_CHARACTERS).superRefine(within(MAX_TEXT_BYTES)).nullish(),
  blocks: z.unknown().optional(),
  attachments: z.unknown().optional(),
  ts,
  thread_ts: ts.nullish(),
  files: z.array(file).max(MAX_FILES).superRefine(within(MAX_FILES_BYTES)).nullish(),
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
  const text = clipped(ownWords(data.text ?? '', data.blocks), MAX_TEXT_CHARACTERS, MAX_TEXT_BYTES)
  const room = MAX_TEXT_BYTES - bytesOf(text)
  const attached = clipped(attachmentTexts(data.attachments).join('\n\n'), MAX_ATTACHED_CHARACTERS, room)
  return {
    type: 'message',
    team: of,
    channel: data.channel,
    thread: data.thread_ts ?? data.ts,
    ts: data.ts,
    user: data.user,
    text,
    attached,
    files: withAttached(data.files ?? [], data.attachments),
    ...definedFields({ botId: data.bot_id ?? undefined }),
    isDirect: data.channel_type === 'im' || data.channel.startsWith('D'),
    isMention: data.type === 'app_mention',
  }
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

/** Truncates a text to both limits. */
function clipped(text: string, characters: number, bytes: number): string {
  let kept = text.length > characters ? cut(text, characters) : text
  for (let size = bytesOf(kept); size > bytes && kept !== ''; size = bytesOf(kept))
    kept = cut(kept, Math.floor((kept.length * bytes) / size) - CUT_MARK.length - 2)
  return kept
}

const cut = (text: string, characters: number): string =>
  characters <= 0 ? '' : `${text.slice(0, characters).toWellFormed()}${CUT_MARK}`

/** The files of a message, followed by those of its attachments, up to the limit of a row of the outbox. */
function withAttached(files: readonly SlackFile[], attachments: unknown): readonly SlackFile[] {
  const kept = [...files]
  for (const one of attachedFiles(attachments)) {
    const { data } = file.safeParse(one)
    if (data === undefined) continue
    if (kept.length === MAX_FILES || bytesOf([...kept, data]) > MAX_FILES_BYTES) break
    kept.push(data)
  }
  return kept
}
