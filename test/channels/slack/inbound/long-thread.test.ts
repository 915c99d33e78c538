/* Evidence, deliveries: A message in Slack names the person who decided. The bot reads the newest messages of a long thread. */
/* A bot mentioned in a long thread reads the newest messages. The input reports the number of omitted earlier messages. */
import { expect, test } from 'vitest'
import { readInput } from '../../../../functions/channels/slack/inbound/read-input.ts'
import { threadMessages } from '../../../../functions/channels/slack/inbound/thread-messages.ts'

const BEFORE = '1800000000.000100'

/** Creates a Slack thread whose first message is part of each page. */
function threadOf(count: number, text = (index: number): string => `message ${index}`) {
  const all = Array.from({ length: count }, (_, index) => ({
    ts: `${1_700_000_000 + index}.000100`,
    user: 'U1',
    text: text(index),
  }))
  const call = async ({ args }: { readonly args: { readonly cursor?: unknown; readonly limit?: unknown } }) => {
    const from = Number(args.cursor ?? 0)
    const to = from + Number(args.limit)
    return {
      ok: true,
      messages: [...(from === 0 ? [] : all.slice(0, 1)), ...all.slice(from, to)],
      response_metadata: { next_cursor: to < count ? String(to) : '' },
    }
  }
  return { api: { call } as never, place: { team: 'T1', channel: 'C1', thread: all[0]?.ts ?? '' } }
}

test.each([1_500, 2_500, 12_000])('a thread of %i messages is read up to its newest message', async (count) => {
  const { api, place } = threadOf(count)
  const found = await threadMessages(api, 'token', place, { before: BEFORE })
  const kept = Math.min(count, 2_000)
  expect(found.map(({ text }) => text)).toEqual(
    Array.from({ length: kept }, (_, index) => `message ${count - kept + index}`),
  )
})

async function contextOf({ api, place }: ReturnType<typeof threadOf>): Promise<string[]> {
  const message = {
    ...place,
    type: 'message',
    ts: BEFORE,
    user: 'U1',
    text: 'and now?',
    attached: '',
    files: [],
  } as never
  const dependencies = { api, downloads: {} as never, logger: { info() {}, warn() {}, error() {} } }
  const session = { metadata: { slack_first: BEFORE } } as never
  const workspace = { token: 'token', bot: 'UBOT' } as never
  const [context] = await readInput(dependencies, workspace, session, message, new AbortController().signal)
  return context?.type === 'text' ? context.text.split('\n') : []
}

test('an input reports the number of omitted earlier messages of its thread', async () => {
  const lines = await contextOf(threadOf(2_500))
  const left = 2_500 - (lines.length - 1)
  expect(lines[0]).toBe(`[${left} earlier messages of this thread are left out.]`)
  expect(lines.at(-1)).toBe('<@U1>: message 2499')
  expect(await contextOf(threadOf(3))).toEqual(['<@U1>: message 0', '<@U1>: message 1', '<@U1>: message 2'])
})

test('an earlier message that is too long is truncated at its end', async () => {
  const lines = await contextOf(threadOf(1, () => 'x'.repeat(40_000)))
  expect(lines[0]?.startsWith('<@U1>: xxx')).toBe(true)
})
