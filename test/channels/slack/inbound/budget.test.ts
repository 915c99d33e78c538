/* Evidence, usage: Runs from webhooks and Slack count against the tenant's budget; a thread gets one notice. */
import { afterEach, expect, test } from 'vitest'
import { ModelError } from '../../../../functions/ports/model.ts'
import type { Turn } from '../../../agent/harness.ts'
import { directMessage, mention } from '../../../slack-server/slack-events.ts'
import { openSlackHarness } from '../harness.ts'
import type { SlackHarness } from '../harness.ts'
import { repliesOf } from '../outbound/reply-fixture.ts'

let harness: SlackHarness
afterEach(() => harness.close())

const USED_UP = 'What may be used in a day is used up. Please ask again after midnight (UTC).'
const THREAD = '1700000001.000100'

/**
 * Opens a program for a tenant with a budget of one token per day. A turn that is appended to `script` uses up this
 * budget.
 */
const open = async (...script: Turn[]): Promise<void> =>
  void (harness = await openSlackHarness({
    script: [...script, { text: 'Hi.' }],
    settings: { caps: { keys: {}, tenants: { tokensPerDay: 1 } } },
  }))

const ask = (ts: string, text: string, more: object = {}): Promise<Response> =>
  harness.deliver(directMessage({ ts, text, ...more }))
const replied = (thread: string): Promise<void> =>
  expect.poll(() => repliesOf(harness.slack, 'D1', thread).length).toBe(1)
const notices = (channel: string, thread: string): string[] =>
  harness.slack
    .replies(channel, thread)
    .filter(({ metadata }) => (metadata as { event_type?: string } | undefined)?.event_type === 'tooltrail_notice')
    .map(({ text }) => text)

test("no run starts after the tenant's daily budget is used up, and a thread gets one notice", async () => {
  await open()
  await ask(THREAD, 'hello')
  await replied(THREAD)
  const more = { thread_ts: THREAD }
  const both = await Promise.all([ask('1700000002.000100', 'a', more), ask('1700000003.000100', 'b', more)])
  expect(both.map(({ status }) => status)).toEqual([200, 200])
  expect((await ask('1700000002.000100', 'a', more)).status).toBe(200)
  expect((await ask(THREAD, 'hello')).status).toBe(200)
  await harness.deliver(mention({ ts: '1700000004.000100', text: '<@UBOT> c' }))
  expect(notices('D1', THREAD)).toEqual([USED_UP])
  expect(notices('C1', '1700000004.000100')).toEqual([USED_UP])
  expect(await harness.sessions()).toEqual([`slack-T1-D1-${THREAD}`])
  expect(harness.http.requests).toHaveLength(1)
})

test('a notice that Slack rejected is posted when the message is delivered again', async () => {
  await open()
  await ask(THREAD, 'hello')
  await replied(THREAD)
  harness.slack.fault = ({ method }) => (method === 'chat.postMessage' ? 'broken' : undefined)
  const late = { thread_ts: THREAD }
  expect((await ask('1700000002.000100', 'a', late)).status).toBe(503)
  harness.slack.fault = () => undefined
  expect((await ask('1700000002.000100', 'a', late)).status).toBe(200)
  expect(notices('D1', THREAD)).toEqual([USED_UP])
})

test('a message whose file was read from Slack is refused if the budget is used up', async () => {
  await open()
  await ask(THREAD, 'hello')
  await replied(THREAD)
  harness.slack.files.set('a.txt', { type: 'text/plain', data: Buffer.from('words') })
  const files = [{ name: 'a.txt', mimetype: 'text/plain', url_private: harness.slack.fileUrl('a.txt') }]
  await ask('1700000002.000100', 'look', { thread_ts: THREAD, files })
  await expect.poll(() => notices('D1', THREAD)).toEqual([USED_UP])
  const key = { tenant: 'default', session: `slack-T1-D1-${THREAD}` }
  await expect.poll(() => harness.http.ports.outbox.pending(key, 10)).toEqual([])
  expect(harness.http.requests).toHaveLength(1)
})

test('if the budget is used up, the Retry button starts no run, and the reason replaces the button', async () => {
  const failing: Turn = async function* () {
    yield { type: 'text.delta', part: 0, text: '' }
    throw new ModelError('invalid_request', 'no', { retryable: false })
  }
  await open(failing)
  await ask(THREAD, 'hello')
  await expect.poll(() => harness.slack.replies('D1', THREAD).length).toBe(1)
  const [message] = harness.slack.replies('D1', THREAD)
  await ask('1700000002.000100', 'another')
  await replied('1700000002.000100')
  await harness.press({ message, action: 'tooltrail_retry', user: 'U1', channel: 'D1' })
  await expect.poll(() => harness.slack.replies('D1', THREAD)[0]?.text).toBe(USED_UP)
  expect(harness.http.requests).toHaveLength(2)
  expect(harness.http.lines.filter(({ message: text }) => text === 'a channel failed')).toEqual([])
})
