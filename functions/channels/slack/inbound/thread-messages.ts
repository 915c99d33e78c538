import * as z from 'zod'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { JsonObject } from '../../../domain/json.ts'
import { isRefusal } from '../api/slack-error.ts'
import type { Thread } from './thread.ts'
import type { SlackApi } from '../api/web-api.ts'

/** Messages in one page. */
const PAGE = 200
/** Limit of the pages of one read. Slack lists a thread from its oldest message, and allows 50 pages a minute. */
const MAX_PAGES = 100
/** Limit of the messages returned for a thread; the newest are kept. */
const MAX_MESSAGES = 2_000

/** A field that Slack may omit, or set to null or to another type. */
const optionalText = z
  .string()
  .nullish()
  .catch(undefined)
  .transform((value) => value ?? undefined)

const message = z.object({
  ts: z.string(),
  user: optionalText,
  /** The name that a bot posts with. */
  username: optionalText,
  bot_id: optionalText,
  bot_profile: z.object({ name: optionalText }).optional().catch(undefined),
  subtype: optionalText,
  text: optionalText.transform((value) => value ?? ''),
  blocks: z.unknown().optional(),
  attachments: z.unknown().optional(),
  streaming_state: optionalText,
  files: z
    .array(z.object({ id: z.string(), name: optionalText }))
    .default([])
    .catch([]),
  metadata: z
    .object({ event_type: z.string(), event_payload: z.record(z.string(), z.unknown()) })
    .optional()
    .catch(undefined),
})

export type ThreadMessage = z.output<typeof message>

const page = z.object({
  messages: z.array(z.unknown()),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
})

interface Reading {
  readonly after?: string
  readonly before?: string
  readonly signal?: AbortSignal
}

/** The part of a thread that was read. */
interface ReadThread {
  /** The thread's newest messages, oldest first. */
  readonly messages: ThreadMessage[]
  /** Number of older messages that were read and dropped. */
  readonly omitted: number
  /** Whether the read stopped before it reached the newest message within the bounds. */
  readonly isCutOff: boolean
}

/**
 * Reads the newest messages of a thread, oldest first. `after` and `before` are exclusive bounds. Empty if Slack does
 * not know the thread.
 */
export async function threadMessages(
  api: Pick<SlackApi, 'call'>,
  token: string,
  thread: Thread,
  reading: Reading,
): Promise<ThreadMessage[]> {
  return (await readThread(api, token, thread, reading)).messages
}

/** Like `threadMessages`, but also reports whether messages are missing. */
export async function readThread(
  api: Pick<SlackApi, 'call'>,
  token: string,
  thread: Thread,
  { after, before, signal }: Reading,
): Promise<ReadThread> {
  // Slack includes the thread's first message in each page, whatever the bounds are.
  const isBetween = ({ ts }: ThreadMessage): boolean =>
    (after === undefined || isBefore(after, ts)) && (before === undefined || isBefore(ts, before))
  let messages: ThreadMessage[] = []
  let omitted = 0
  let first: string | undefined
  let cursor: string | undefined
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const args = { ...definedFields({ oldest: after, latest: before, cursor }), include_all_metadata: true }
    const next = await readPage(api, token, thread, args, signal)
    const between = next.messages.filter((one) => isBetween(one) && one.ts !== first)
    first ??= between[0]?.ts
    messages.push(...between)
    omitted += Math.max(0, messages.length - MAX_MESSAGES)
    messages = messages.slice(-MAX_MESSAGES)
    cursor = next.cursor
    if (cursor === undefined) break
  }
  return { messages, omitted, isCutOff: cursor !== undefined }
}

async function readPage(
  api: Pick<SlackApi, 'call'>,
  token: string,
  { team, channel, thread }: Thread,
  more: JsonObject,
  signal: AbortSignal | undefined,
): Promise<{ readonly messages: ThreadMessage[]; readonly cursor: string | undefined }> {
  const args = { channel, ts: thread, limit: PAGE, ...more }
  const call = { token, method: 'conversations.replies', args, team, ...definedFields({ signal }) }
  const answer = await api.call(call).catch((error: unknown) => {
    if (!isRefusal(error, 'thread_not_found')) throw error
    return { messages: [] }
  })
  const { messages, response_metadata: next } = page.parse(answer)
  return {
    messages: messages.flatMap((one) => message.safeParse(one).data ?? []),
    cursor: next?.next_cursor === '' ? undefined : next?.next_cursor,
  }
}

/** Compares timestamps as text, because they have more digits than a `number` can hold. */
function isBefore(one: string, other: string): boolean {
  const [seconds = '', rest = ''] = one.split('.')
  const [otherSeconds = '', otherRest = ''] = other.split('.')
  if (seconds !== otherSeconds) return Number(seconds) < Number(otherSeconds)
  return Number(rest.padEnd(9, '0')) < Number(otherRest.padEnd(9, '0'))
}
