import { afterEach, expect, test } from 'vitest'
import { directMessage } from '../../../slack-server/slack-events.ts'
import { openSlackHarness } from '../harness.ts'
import type { SlackHarness } from '../harness.ts'
import { repliesOf } from '../outbound/reply-fixture.ts'

let harness: SlackHarness
afterEach(() => harness.close())

const THREAD = '1700000001.000100'
const KEY = { tenant: 'default', session: `slack-T1-D1-${THREAD}` }
const DELETED = 'This conversation was deleted, and cannot go on here for up to 30 days. Please begin a new thread.'
const texts = (): string[] => harness.slack.replies('D1', THREAD).map(({ text }) => text)

test('a thread whose session was deleted gets one notice, and its messages are not accepted', async () => {
  harness = await openSlackHarness({ script: [{ text: 'Hi.' }] })
  await harness.deliver(directMessage({ ts: THREAD, text: 'hello' }))
  await expect.poll(() => repliesOf(harness.slack, 'D1', THREAD).length).toBe(1)
  await expect.poll(() => harness.http.ports.outbox.pending(KEY, 10)).toEqual([])
  const before = texts()
  await harness.http.ports.deletion.tombstone(KEY)
  for (const ts of ['1700000002.000100', '1700000002.000100', '1700000003.000100'])
    expect((await harness.deliver(directMessage({ ts, thread_ts: THREAD, text: 'again' }))).status).toBe(200)
  expect(texts()).toEqual([...before, DELETED])
  expect(await harness.sessions()).toEqual([])
  expect(harness.http.requests).toHaveLength(1)
})

test('a message gets 503 while another process posts the notice, and is accepted when Slack delivers it again', async () => {
  harness = await openSlackHarness({ script: [{ text: 'Hi.' }] })
  await harness.deliver(directMessage({ ts: THREAD, text: 'hello' }))
  await expect.poll(() => repliesOf(harness.slack, 'D1', THREAD).length).toBe(1)
  await expect.poll(() => harness.http.ports.outbox.pending(KEY, 10)).toEqual([])
  const { clock, deletion, received } = harness.http.ports
  await deletion.tombstone(KEY)
  const name = `slack notice T1 D1 ${THREAD} deleted:${new Date(clock.now()).toISOString().slice(0, 10)} said`
  await received.remember('default', [name], 'another process', clock.now() + 1_000)
  const again = () => harness.deliver(directMessage({ ts: '1700000002.000100', thread_ts: THREAD, text: 'again' }))
  expect((await again()).status).toBe(503)
  expect(texts()).not.toContain(DELETED)
  await expect.poll(async () => (await again()).status).toBe(200)
  expect(texts().filter((text) => text === DELETED)).toHaveLength(1)
})
