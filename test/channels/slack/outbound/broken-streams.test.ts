/* Evidence, deliveries: A long answer reaches Slack completely, even if Slack accepts no file or an upload address has
 * expired. */
import { afterEach, expect, test } from 'vitest'
import { directMessage } from '../../../slack-server/slack-events.ts'
import type { Fault } from '../../../slack-server/slack-server.ts'
import { openSlackHarness } from '../harness.ts'
import type { SlackHarness } from '../harness.ts'
import { repliesOf, streamed, TS, wholeText } from './reply-fixture.ts'

let harness: SlackHarness
afterEach(() => harness.close())

const key = { tenant: 'default', session: `slack-T1-D1-${TS}` }
const pending = async (): Promise<number> => (await harness.http.ports.outbox.pending(key, 10)).length
const delivered = (): Promise<void> => expect.poll(pending).toBe(0)

/** Starts a reply, and waits until Slack shows the first chunk. Every later call of `method` gets the fault. */
async function begun(method: string, fault: Fault): Promise<() => void> {
  const { turn, letGo } = streamed(['One ', 'two ', 'three.'])
  harness = await openSlackHarness({ script: [turn] })
  await harness.deliver(directMessage({ ts: TS, text: 'count' }))
  await expect.poll(() => harness.slack.replies('D1', TS)[0]?.text).toBe('One ')
  harness.slack.fault = (call) => (call.method === method ? fault : undefined)
  return letGo
}

test('a stream that Slack ended is completed by an update of its message', async () => {
  const letGo = await begun('chat.appendStream', { refusal: 'message_not_in_streaming_state' })
  const [message] = harness.slack.state.messages
  Object.assign(message ?? {}, { streaming_state: 'completed' })
  letGo()
  await delivered()
  expect(harness.slack.replies('D1', TS)).toHaveLength(1)
  expect(wholeText(harness.slack, 'D1', TS)).toBe('One two three.')
})

test('only the missing text is posted as a new message if Slack no longer allows an edit', async () => {
  const letGo = await begun('chat.appendStream', { refusal: 'message_not_in_streaming_state' })
  const [message] = harness.slack.state.messages
  Object.assign(message ?? {}, { streaming_state: 'completed' })
  harness.slack.state.editWindowClosed = true
  letGo()
  await delivered()
  expect(harness.slack.replies('D1', TS).map(({ text }) => text)).toEqual(['One ', 'two three.'])
  expect(repliesOf(harness.slack, 'D1', TS)).toHaveLength(1)
})

test('a message that a person deleted is not posted again', async () => {
  const letGo = await begun('chat.appendStream', { refusal: 'message_not_found' })
  harness.slack.state.messages.length = 0
  letGo()
  await delivered()
  expect(harness.slack.replies('D1', TS)).toEqual([])
})

test('the reply is complete if Slack refuses the stream', async () => {
  harness = await openSlackHarness({ script: [{ text: 'Hello.' }] })
  harness.slack.fault = ({ method }) =>
    method === 'chat.startStream' ? { refusal: 'not_allowed_token_type' } : undefined
  await harness.deliver(directMessage({ ts: TS, text: 'hi' }))
  await delivered()
  expect(wholeText(harness.slack, 'D1', TS)).toBe('Hello.')
})

const LONG = Array.from({ length: 3_000 }, (_, index) => `Sentence number ${index} says little.`).join('\n\n')

test('a long answer is posted in messages if Slack refuses files, and later messages get replies', async () => {
  harness = await openSlackHarness({ script: [{ text: LONG }, { text: 'Next.' }] })
  harness.slack.fault = ({ method }) =>
    method === 'files.getUploadURLExternal' ? { refusal: 'missing_scope' } : undefined
  await harness.deliver(directMessage({ ts: TS, text: 'tell me all' }))
  await harness.deliver(directMessage({ ts: '1700000001.000200', thread_ts: TS, text: 'and?' }))
  await delivered()
  expect(wholeText(harness.slack, 'D1', TS)).toBe(`${LONG}Next.`)
  const rated = repliesOf(harness.slack, 'D1', TS).flatMap(({ blocks }, at) => (blocks === undefined ? [] : [at]))
  expect(rated).toEqual([4, repliesOf(harness.slack, 'D1', TS).length - 1])
})

test('an expired upload address is replaced by a new one', async () => {
  harness = await openSlackHarness({ script: [{ text: LONG }] })
  const { uploads } = harness.slack.state
  // Slack responds with 404 for an expired upload address.
  harness.slack.after = ({ method }) => {
    if (method === 'files.getUploadURLExternal' && uploads.has('F1')) {
      uploads.delete('F1')
      uploads.set('-', { title: '', content: '' })
    }
  }
  await harness.deliver(directMessage({ ts: TS, text: 'tell me all' }))
  await expect.poll(pending).toBe(0)
  const files = harness.slack.replies('D1', TS).flatMap(({ file }) => (file === undefined ? [] : [file]))
  expect(files).toMatchObject([{ id: 'F2', content: LONG }])
})

test('a status that Slack refuses does not delay the reply', async () => {
  harness = await openSlackHarness({ script: [{ text: 'Hello.' }] })
  harness.slack.fault = ({ method }) =>
    method === 'agents.sessions.setStatus' ? { refusal: 'not_authorized' } : undefined
  await harness.deliver(directMessage({ ts: TS, text: 'hi' }))
  await delivered()
  expect(wholeText(harness.slack, 'D1', TS)).toBe('Hello.')
})

test('a deleted channel fails the delivery without retries', async () => {
  harness = await openSlackHarness({ script: [{ text: 'Hello.' }] })
  harness.slack.fault = ({ method }) => (method.startsWith('chat.') ? { refusal: 'channel_not_found' } : undefined)
  await harness.deliver(directMessage({ ts: TS, text: 'hi' }))
  await delivered()
  const { deliveries } = await harness.http.ports.outbox.list({ tenant: 'default', kind: 'slack', limit: 10 })
  expect(deliveries).toMatchObject([{ status: 'failed' }])
})
