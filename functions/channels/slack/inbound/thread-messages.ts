import * as z from 'zod'
import { isRefusal } from '../api/slack-error.ts'
import type { Thread } from './thread.ts'
import type { SlackApi } from '../api/web-api.ts'

/** Messages of a page, and pages that are read at most. */
const PAGE = 200
const MAX_PAGES = 10

const message = z.object({
  ts: z.string(),
  user: z.string().optional(),
  bot_id: z.string().optional(),
  subtype: z.string().optional(),
  text: z.string().default(''),
  streaming_state: z.string().optional(),
  files: z.array(z.object({ id: z.string() })).default([]),
  metadata: z.object({ event_type: z.string(), event_payload: z.record(z.string(), z.unknown()) }).optional(),
})

export type ThreadMessage = z.output<typeof message>

const page = z.object({
  messages: z.array(z.unknown()),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
})

/**
 * The messages of a thread, oldest first, strictly between two of them where these are given; none where Slack knows no such
 * thread.
 */
export async function threadMessages(
  api: Pick<SlackApi, 'call'>,
  token: string,
  { team, channel, thread }: Thread,
  { after, before, signal }: { readonly after?: string; readonly before?: string; readonly signal?: AbortSignal },
): Promise<ThreadMessage[]> {
  const found: ThreadMessage[] = []
  let cursor: string | undefined
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const args = {
      channel,
      ts: thread,
      limit: PAGE,
      include_all_metadata: true,
      ...(after === undefined ? {} : { oldest: after }),
      ...(before === undefined ? {} : { latest: before }),
      ...(cursor === undefined ? {} : { cursor }),
    }
    const call = { token, method: 'conversations.replies', args, team, ...(signal === undefined ? {} : { signal }) }
    const answer = await api.call(call).catch((error: unknown) => {
      if (!isRefusal(error, 'thread_not_found')) throw error
      return { messages: [] }
    })
    const { messages, response_metadata: next } = page.parse(answer)
    found.push(...messages.flatMap((one) => message.safeParse(one).data ?? []))
    cursor = next?.next_cursor === '' ? undefined : next?.next_cursor
    if (cursor === undefined) break
  }
  // The thread's first message always comes along.
  return found.filter(
    ({ ts }) => (after === undefined || isBefore(after, ts)) && (before === undefined || isBefore(ts, before)),
  )
}

/** Times of messages are decimal numbers with more digits than a `number` keeps. */
function isBefore(one: string, other: string): boolean {
  const [seconds = '', rest = ''] = one.split('.')
  const [otherSeconds = '', otherRest = ''] = other.split('.')
  if (seconds !== otherSeconds) return Number(seconds) < Number(otherSeconds)
  return Number(rest.padEnd(9, '0')) < Number(otherRest.padEnd(9, '0'))
}
