/*
 * A bot that is mentioned in a long thread reads its newest messages. Today, in a thread of 2,500 messages, the oldest 2,000 are read.
 *
 * Suite: test/channels/slack/
 */
import { expect, test } from 'vitest'
import { threadMessages } from '../../functions/channels/slack/inbound/thread-messages.ts'

async function expectNewest(count: number): Promise<void> {
  const all = Array.from({ length: count }, (_, index) => ({
    ts: `${1_700_000_000 + index}.000100`,
    user: 'U1',
    text: `message ${index}`,
  }))
  const call = async ({ args }: { readonly args: { readonly cursor?: unknown; readonly limit?: unknown } }) => {
    const from = Number(args.cursor ?? 0)
    const limit = Number(args.limit)
    return {
      ok: true,
      messages: all.slice(from, from + limit),
      response_metadata: { next_cursor: from + limit < count ? String(from + limit) : '' },
    }
  }
  const found = await threadMessages(
    { call } as never,
    'token',
    { team: 'T1', channel: 'C1', thread: all[0]?.ts ?? '' },
    { before: '1800000000.000100' },
  )
  expect(found.at(-1)?.text).toBe(`message ${count - 1}`)
}

test.each([1_500])('a thread of %i messages is read to its newest', expectNewest)
test.fails.each([2_500])('a thread of %i messages is read to its newest', expectNewest)
