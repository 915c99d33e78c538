/* Evidence, deliveries: Slack gets a response with status 200 within 3 s, even if reading files and threads from Slack is
 * slow. */
import { afterEach, expect, test } from 'vitest'
import { channelMessage, directMessage, mention } from '../../../slack-server/slack-events.ts'
import { openSlackHarness } from '../harness.ts'
import type { SlackHarness } from '../harness.ts'

/** Slack's time limit for a 200, in milliseconds. Downloads of files take longer in this test. */
const ACK_TIMEOUT_MS = 3_000
const SLOW_MS = 3_500
const MEGABYTES_10 = Buffer.alloc(10_000_000, 'x')

let harness: SlackHarness
afterEach(() => harness.close())

/** Waits until the session's inputs have `count` parts. Returns the texts and file names of each input. */
async function inputsOf(session: string, count: number): Promise<readonly (readonly string[])[]> {
  const query = { order: 'ascending', roles: ['user'], limit: 10 } as const
  let found: readonly (readonly string[])[] = []
  const read = async (): Promise<number> => {
    const { messages } = await harness.http.ports.reader.messages({ tenant: 'default', session }, query)
    found = messages.map(({ parts }) =>
      parts.flatMap((part) => (part.type === 'text' ? [part.text] : 'filename' in part ? [part.filename ?? ''] : [])),
    )
    return found.length
  }
  await expect.poll(read).toBe(count)
  return found
}

const filesOf = (...names: string[]): object[] => {
  for (const name of names) harness.slack.files.set(name, { type: 'text/plain', data: MEGABYTES_10, delayMs: SLOW_MS })
  return names.map((name) => ({ name, mimetype: 'text/plain', url_private: harness.slack.fileUrl(name) }))
}

/** Delivers an event, and expects 200 within Slack's time limit. */
async function deliverInTime(event: object): Promise<void> {
  const begun = performance.now()
  expect((await harness.deliver(event)).status).toBe(200)
  expect(performance.now() - begun).toBeLessThan(ACK_TIMEOUT_MS)
}

test('slow files and threads do not delay the 200; each message becomes one input, in order', async () => {
  harness = await openSlackHarness()
  const { slack } = harness
  slack.fault = async ({ method }) => {
    if (method === 'conversations.replies') await new Promise((resolve) => setTimeout(resolve, SLOW_MS))
    return undefined
  }
  const thread = slack.write({ channel: 'C1', user: 'U7', text: 'the build is red' })
  const files = filesOf('one.txt', 'two.txt')
  const first = mention({ ts: '1700000002.000100', thread_ts: thread, text: '<@UBOT> why?', files })
  await deliverInTime(first)
  await deliverInTime(channelMessage({ ts: '1700000003.000100', thread_ts: thread, text: 'and when?' }))
  // Slack repeats unacknowledged events, and also sends a mention as a message.
  await deliverInTime(first)
  await deliverInTime(channelMessage({ ts: '1700000002.000100', thread_ts: thread, text: '<@UBOT> why?', files }))
  expect(await inputsOf(`slack-T1-C1-${thread}`, 2)).toEqual([
    ['<@U7>: the build is red', 'why?', 'one.txt', 'two.txt'],
    ['and when?'],
  ])
})

test('a message is not stored if its session is deleted while its file is read', async () => {
  harness = await openSlackHarness()
  const ts = '1700000002.000100'
  const session = `slack-T1-D1-${ts}`
  await deliverInTime(directMessage({ ts, text: 'look', files: filesOf('one.txt') }))
  expect((await harness.http.send('DELETE', `/v1/sessions/${session}`)).status).toBeLessThan(300)
  const key = { tenant: 'default', session }
  await expect.poll(() => harness.http.ports.outbox.pending(key, 10)).toEqual([])
  expect(harness.http.requests).toEqual([])
})
