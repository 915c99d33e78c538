/* Evidence, deliveries: Each person's feedback from Slack is stored once, with its message. A decision names the person who
 * made it. */
import { afterEach, expect, test } from 'vitest'
import type { MessageResource } from '../../../../functions/http/v1/messages/resource.ts'
import { directMessage, mention } from '../../../slack-server/slack-events.ts'
import { openSlackHarness } from '../harness.ts'
import type { SlackHarness } from '../harness.ts'
import { repliesOf, streamed, TS } from '../outbound/reply-fixture.ts'

let harness: SlackHarness
afterEach(() => harness.close())

const SESSION = `slack-T1-D1-${TS}`
const isDone = async (): Promise<void> =>
  expect.poll(() => harness.http.ports.outbox.pending({ tenant: 'default', session: SESSION }, 10)).toEqual([])

const last = () => repliesOf(harness.slack, 'D1', TS).at(-1)
const press = (choice: 'positive' | 'negative', at: string, user = 'U1') =>
  harness.press({ message: last(), action: 'tooltrail_feedback', choice, at, user, channel: 'D1' })

async function assistants(): Promise<readonly MessageResource[]> {
  const response = await harness.http.send('GET', `/v1/sessions/${SESSION}/messages?roles=assistant`)
  return ((await response.json()) as { data: MessageResource[] }).data
}

async function found(query: string, text = 'weather'): Promise<readonly string[]> {
  const response = await harness.http.send('GET', `/v1/search?q=${text}&${query}`)
  const { data } = (await response.json()) as { data: readonly { message_id: string }[] }
  return data.map(({ message_id: id }) => id)
}

async function askAndWait(script: Parameters<typeof openSlackHarness>[0]): Promise<void> {
  harness = await openSlackHarness(script)
  await harness.deliver(directMessage({ ts: TS, text: 'How is the weather?' }))
  await isDone()
}

test('an answer asks for a rating; the API and search show the rating with the last message', async () => {
  await askAndWait({
    script: [{ text: 'Weather first:', calls: [{ name: 'unknown' }] }, { text: 'The weather is fine.' }],
  })
  expect((await press('positive', '1700000001.000100')).status).toBe(200)
  expect((await press('negative', '1700000002.000200', 'U2')).status).toBe(200)
  const [first, answer] = await assistants()
  expect(first).not.toHaveProperty('feedback')
  expect(answer?.feedback).toEqual([
    { rating: 'positive', user: 'slack-T1-U1', at: '2023-11-14T22:13:21.000Z' },
    { rating: 'negative', user: 'slack-T1-U2', at: '2023-11-14T22:13:22.000Z' },
  ])
  expect(await found('feedback=positive')).toEqual([answer?.id])
  expect(await found('feedback=negative')).toEqual([answer?.id])
  expect(await found('feedback=negative&role=user')).toEqual([])
  expect((await harness.http.send('GET', '/v1/search?q=weather&feedback=great')).status).toBe(400)
})

test('repeated or late presses count once, and each person has one rating, the latest', async () => {
  await askAndWait({ script: [{ text: 'The weather is fine.' }] })
  await Promise.all([press('positive', '1700000001.000100'), press('positive', '1700000001.000100')])
  await press('negative', '1700000003.000100')
  await press('positive', '1700000001.000100')
  const [answer] = await assistants()
  expect(answer?.feedback).toMatchObject([{ rating: 'negative', at: '2023-11-14T22:13:23.000Z' }])
  expect(await found('feedback=positive')).toEqual([])
})

test('a rating does not change the rank of its message in search', async () => {
  await askAndWait({ script: [{ text: 'The weather is fine.' }, { text: 'The weather is fine.' }] })
  const rated = last()
  await harness.deliver(directMessage({ ts: '1600000009.000100', thread_ts: TS, text: 'And now?' }))
  await isDone()
  // A search without words returns the newest hits first.
  const before = await found('role=assistant', '')
  await harness.press({ message: rated, action: 'tooltrail_feedback', choice: 'positive', user: 'U1', channel: 'D1' })
  expect(await found('role=assistant', '')).toEqual(before)
  expect(await found('feedback=positive', '')).toEqual([before[1]])
  expect(await found('feedback=positive')).toEqual([before[1]])
})

test('only allowed users of a known workspace may rate, and only answers can be rated', async () => {
  await askAndWait({ script: [{ text: 'The weather is fine.' }], slack: { allow: { users: ['U1'] } } })
  await press('negative', '1700000001.000100', 'U2')
  const message = last()
  const value = String(JSON.stringify(message?.blocks).match(/[0-9A-Z]{26}/)?.[0])
  const forged = (pressed: string) => ({
    ...message,
    ts: message?.ts ?? '',
    channel: 'D1',
    text: '',
    blocks: [{ elements: [{ type: 'x', action_id: 'tooltrail_feedback', value: pressed }] }],
  })
  for (const pressed of [`${value}.great`, value, '.positive', `${'0'.repeat(26)}.positive`, 'x'.repeat(200)]) {
    const one = { message: forged(pressed), action: 'tooltrail_feedback', user: 'U1', channel: 'D1' }
    expect((await harness.press(one)).status).toBe(200)
  }
  expect((await assistants())[0]).not.toHaveProperty('feedback')
})

test('only the last message of an answer asks for a rating, whether streamed, posted or split', async () => {
  const { turn, letGo } = streamed(['One ', 'two.'])
  await harnessFor(turn)
  await expect.poll(() => harness.slack.replies('D1', TS)[0]?.text).toBe('One ')
  letGo()
  await isDone()
  expect(asking()).toEqual([0])
  await harness.close()
  await askAndWait({
    script: [{ text: Array.from({ length: 900 }, (_, n) => `Sentence ${n} is short.`).join('\n\n') }],
  })
  expect(repliesOf(harness.slack, 'D1', TS).length).toBeGreaterThan(1)
  expect(asking()).toEqual([repliesOf(harness.slack, 'D1', TS).length - 1])
})

test('an answer has no rating buttons if Slack rejects them', async () => {
  harness = await openSlackHarness({ script: [{ text: 'The weather is fine.' }] })
  harness.slack.fault = ({ args }) =>
    JSON.stringify(args).includes('feedback_buttons') ? { refusal: 'invalid_blocks' } : undefined
  await harness.deliver(mention({ ts: TS, text: '<@UBOT> how is the weather?', channel: 'C1' }))
  await expect.poll(() => repliesOf(harness.slack, 'C1', TS).map(({ text }) => text)).toEqual(['The weather is fine.'])
})

async function harnessFor(turn: ReturnType<typeof streamed>['turn']): Promise<void> {
  harness = await openSlackHarness({ script: [turn] })
  await harness.deliver(directMessage({ ts: TS, text: 'Count!' }))
}

/** Returns the indexes of the reply's messages that have feedback buttons. */
const asking = (): number[] =>
  repliesOf(harness.slack, 'D1', TS).flatMap(({ blocks }, place) =>
    JSON.stringify(blocks ?? '').includes('feedback_buttons') ? [place] : [],
  )
