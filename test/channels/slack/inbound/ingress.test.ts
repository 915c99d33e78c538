/* Evidence, deliveries: Slack gets a response with status 200 within 3 s, even if reading files and threads from Slack is
 * slow. */
/* Evidence, deliveries: A Slack message that is accepted can be stored on DynamoDB, whatever its characters. */
/* Evidence, deliveries: No Slack message or webhook enters another owner's session, even if that session has the
 * conversation's id. */
import { afterEach, describe, expect, test } from 'vitest'
import {
  channelMessage,
  directMessage,
  eventCallback,
  mention,
  signedHeaders,
} from '../../../slack-server/slack-events.ts'
import { openSlackHarness } from '../harness.ts'
import type { SlackHarness } from '../harness.ts'

let harness: SlackHarness
afterEach(() => harness.close())

const inputs = (): string[] =>
  harness.http.requests.map(({ messages }) => {
    const parts = messages.findLast(({ role }) => role === 'user')?.parts ?? []
    return parts.map((part) => (part.type === 'text' ? part.text : part.type)).join('|')
  })
/** Waits until no work and no unaccepted message is left. */
const idle = (): Promise<void> =>
  expect
    .poll(async () => {
      const { janitor, outbox } = harness.http.ports
      const waiting = (await outbox.due(Infinity, 50)).filter(({ key }) => key.id.startsWith('0.'))
      return waiting.length + (await janitor.due(Infinity, 1)).length
    })
    .toBe(0)

describe('a delivery', () => {
  const body = JSON.stringify(directMessage({ ts: '1700000001.000100', text: 'hello' }))
  test.each([
    ['is another secret’s', signedHeaders(body, { secret: 'another' })],
    ['is 6 minutes old', signedHeaders(body, { at: Date.now() - 360_000 })],
    ['is of the future', signedHeaders(body, { at: Date.now() + 360_000 })],
    ['is of another body', signedHeaders(`${body} `)],
    ['is missing', { 'content-type': 'application/json' }],
    ['is no hash', { ...signedHeaders(body), 'x-slack-signature': 'v0=' }],
    ['has a timestamp that is no number', { ...signedHeaders(body), 'x-slack-request-timestamp': '1e9' }],
  ])(
    'whose signature %s is refused with 401, and nothing is stored',
    async (_what, headers: Record<string, string>) => {
      harness = await openSlackHarness()
      const url = 'http://somewhere.example/slack/events'
      const response = await harness.http.program.app.request(url, { method: 'POST', body, headers })
      expect(response.status).toBe(401)
      expect(await harness.sessions()).toEqual([])
      expect(harness.slack.calls).toEqual([])
    },
  )

  test('with a valid signature needs no key, whatever its host and origin', async () => {
    harness = await openSlackHarness({ settings: { openAccess: false } })
    await harness.http.key()
    const response = await harness.deliver(
      { type: 'url_verification', challenge: 'c123' },
      { origin: 'https://evil.example' },
    )
    expect([response.status, await response.json()]).toEqual([200, { challenge: 'c123' }])
  })

  test('gets 404 if no app is set up, without a check of its signature', async () => {
    harness = await openSlackHarness({ secrets: { SLACK_SIGNING_SECRET: '' } as Record<string, string> })
    const response = await harness.deliver(
      { type: 'url_verification', challenge: 'c' },
      signedHeaders('', { secret: '' }),
    )
    expect(response.status).toBe(404)
  })
})

describe('a message', () => {
  test('does not enter a session of another owner, even if that session has the id of its thread', async () => {
    harness = await openSlackHarness()
    const key = { tenant: 'default', session: 'slack-T1-D1-1700000001.000100' }
    const bobs = { ...key, agent: 'default', owner: 'bob', ownerBound: true, metadata: {} } as const
    await harness.http.ports.sessions.create(bobs)
    expect((await harness.deliver(directMessage({ ts: '1700000001.000100', text: 'a secret' }))).status).toBe(200)
    await idle()
    expect(inputs()).toEqual([])
    expect((await harness.http.ports.reader.messages(key, { order: 'ascending', limit: 10 })).messages).toEqual([])
  })

  test('sent directly to the bot creates a session named by its thread, with the channel as owner', async () => {
    harness = await openSlackHarness()
    expect((await harness.deliver(directMessage({ ts: '1700000001.000100', text: 'a &lt; b &amp; c' }))).status).toBe(
      200,
    )
    await idle()
    expect(inputs()).toEqual(['a < b & c'])
    const key = { tenant: 'default', session: 'slack-T1-D1-1700000001.000100' }
    expect(await harness.http.ports.sessions.read(key)).toMatchObject({ agent: 'default', owner: 'slack-T1-D1' })
    const { messages } = await harness.http.ports.reader.messages(key, { order: 'ascending', limit: 10 })
    expect(messages[0]).toMatchObject({ role: 'user', user: 'slack-T1-U1' })
  })

  test('that mentions the bot arrives as two events and is stored once, without the mention', async () => {
    harness = await openSlackHarness()
    const words = { ts: '1700000001.000100', text: 'hey <@UBOT> what is <@U2> doing?' }
    await Promise.all([harness.deliver(mention(words)), harness.deliver(channelMessage(words))])
    await harness.deliver(channelMessage(words), { 'x-slack-retry-num': '1', 'x-slack-retry-reason': 'http_timeout' })
    await idle()
    expect(inputs()).toEqual(['hey what is <@U2> doing?'])
  })

  test('needs no mention in a known thread, but needs one in other threads and outside of threads', async () => {
    harness = await openSlackHarness()
    await harness.deliver(mention({ ts: '1700000001.000100', text: '<@UBOT> hello' }))
    await harness.deliver(channelMessage({ ts: '1700000002.000100', thread_ts: '1700000001.000100', text: 'and more' }))
    await harness.deliver(channelMessage({ ts: '1700000003.000100', thread_ts: '1600000001.000100', text: 'others' }))
    await harness.deliver(channelMessage({ ts: '1700000004.000100', text: 'outside' }))
    await idle()
    expect(inputs()).toEqual(['hello', 'and more'])
    expect(await harness.sessions()).toEqual(['slack-T1-C1-1700000001.000100'])
  })

  test('without a mention is ignored in a known thread if the settings say so', async () => {
    harness = await openSlackHarness({ slack: { followUps: false } })
    await harness.deliver(mention({ ts: '1700000001.000100', text: '<@UBOT> hello' }))
    await harness.deliver(channelMessage({ ts: '1700000002.000100', thread_ts: '1700000001.000100', text: 'and more' }))
    await idle()
    expect(inputs()).toEqual(['hello'])
  })

  test('with the first mention in a thread adds the earlier messages of that thread, with their authors', async () => {
    harness = await openSlackHarness()
    const { slack } = harness
    const thread = slack.write({ channel: 'C1', user: 'U7', text: 'the build is\nred' })
    slack.write({ channel: 'C1', user: 'U8', text: 'since &lt;noon&gt;', thread_ts: thread })
    const ts = slack.write({ channel: 'C1', user: 'U1', text: '<@UBOT> why?', thread_ts: thread })
    await harness.deliver(mention({ ts, thread_ts: thread, text: '<@UBOT> why?' }))
    await idle()
    const next = slack.write({ channel: 'C1', user: 'U1', text: 'go on', thread_ts: thread })
    await harness.deliver(channelMessage({ ts: next, thread_ts: thread, text: 'go on' }))
    await idle()
    expect(inputs()).toEqual(['<@U7>: the build is red\n<@U8>: since <noon>|why?', 'go on'])
  })

  test('is accepted with a note if the earlier messages of its thread cannot be read', async () => {
    harness = await openSlackHarness()
    harness.slack.fault = ({ method }) => (method === 'conversations.replies' ? 'broken' : undefined)
    await harness.deliver(mention({ ts: '1700000002.000100', thread_ts: '1700000001.000100', text: '<@UBOT> why?' }))
    await idle()
    expect(inputs()).toEqual(['[The earlier messages of this thread could not be read.]|why?'])
  })

  test('that contains only a mention is an input', async () => {
    harness = await openSlackHarness()
    await harness.deliver(mention({ ts: '1700000001.000100', text: '<@UBOT>' }))
    await idle()
    expect(inputs()).toEqual(['<@UBOT>'])
  })
})

describe('Slack gets 200, and nothing is stored, for', () => {
  const dm = { ts: '1700000001.000100', text: 'hello' }
  test.each([
    ['the bot’s own message', directMessage({ ...dm, user: 'UBOT' })],
    ['a bot’s message in a channel', channelMessage({ ...dm, bot_id: 'B2' })],
    ['a bot’s mention', mention({ ...dm, bot_id: 'B2', text: '<@UBOT> hi' })],
    ['a bot_message', directMessage({ ...dm, subtype: 'bot_message', user: undefined })],
    ['an edit', directMessage({ subtype: 'message_changed', message: dm, ts: '1700000002.000100' })],
    [
      'a mention that came by an edit',
      mention({ ...dm, text: '<@UBOT>', edited: { user: 'U1', ts: '1700000009.000000' } }),
    ],
    ['a deletion', directMessage({ subtype: 'message_deleted', deleted_ts: dm.ts, ts: '1700000002.000100' })],
    ['somebody who joined', channelMessage({ ...dm, subtype: 'channel_join', text: '<@UBOT> joined' })],
    ['another workspace', { ...directMessage(dm), team_id: 'T666' }],
    ['a channel of another form', directMessage({ ...dm, channel: '../../etc' })],
    ['a ts of another form', directMessage({ ...dm, ts: '1; drop table' })],
    ['an event that nobody asked for', eventCallback({ type: 'reaction_added', user: 'U1' })],
    ['an event that is none', eventCallback([] as unknown as object)],
    ['a payload without an event', { type: 'event_callback', team_id: 'T1' }],
    ['another type', { type: 'app_rate_limited', team_id: 'T1' }],
  ])('%s', async (_what, payload) => {
    harness = await openSlackHarness()
    const response = await harness.deliver(payload)
    expect([response.status, await harness.sessions()]).toEqual([200, []])
  })
})

test.each([
  ['text', 'text', { text: 'x'.repeat(80_001) }],
  ['text as it is stored', 'text', { text: '\u0001'.repeat(42_000) }],
  ['files', 'files', { text: 'look', files: Array.from({ length: 51 }, () => ({ name: 'a.txt' })) }],
  [
    'about its files',
    'files',
    {
      text: 'look',
      files: Array.from({ length: 50 }, () => ({ name: '\u0001'.repeat(200), url_private: '\u0001'.repeat(2_000) })),
    },
  ],
])('a message with too much %s is ignored, and operators get an error', async (_what, field, more) => {
  harness = await openSlackHarness()
  const response = await harness.deliver(directMessage({ ts: '1700000001.000100', ...more }))
  expect([response.status, await harness.sessions()]).toEqual([200, []])
  const fields = { type: 'too_large', team: 'T1', fields: [field] }
  expect(harness.http.lines).toContainEqual({ level: 'warn', message: expect.stringContaining('too large'), fields })
})

test.each([
  ['a body that is no JSON', '{'],
  ['a list', '[]'],
  ['nested brackets', '['.repeat(70)],
])('%s is rejected with 400', async (_what, body) => {
  harness = await openSlackHarness()
  const url = 'http://somewhere.example/slack/events'
  const response = await harness.http.program.app.request(url, { method: 'POST', body, headers: signedHeaders(body) })
  expect(response.status).toBe(400)
})

test('a body over 4 MB is rejected with 413', async () => {
  harness = await openSlackHarness()
  const body = JSON.stringify({ text: 'x'.repeat(4_200_000) })
  const url = 'http://somewhere.example/slack/events'
  const response = await harness.http.program.app.request(url, { method: 'POST', body, headers: signedHeaders(body) })
  expect(response.status).toBe(413)
})

test('a body that is too large is read completely, so that its sender can read the response', async () => {
  harness = await openSlackHarness()
  let left = 6
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) =>
        left-- > 0 ? controller.enqueue(new Uint8Array(1024 * 1024).fill(32)) : controller.close(),
    },
    { highWaterMark: 0 },
  )
  const url = 'http://somewhere.example/slack/events'
  const init = { method: 'POST', body, headers: signedHeaders(''), duplex: 'half' } as const
  expect((await harness.http.program.app.request(url, init)).status).toBe(413)
  expect(left).toBeLessThan(0)
})

test('a person outside the lists of channels and users gets no run, and one notice in a thread', async () => {
  harness = await openSlackHarness({ slack: { allow: { channels: ['C1'], users: ['U1'] } } })
  await harness.deliver(mention({ ts: '1700000001.000100', text: '<@UBOT> a', user: 'U2' }))
  await harness.deliver(
    mention({ ts: '1700000009.000100', thread_ts: '1700000001.000100', text: '<@UBOT> again', user: 'U2' }),
  )
  await harness.deliver(mention({ ts: '1700000002.000100', text: '<@UBOT> b', channel: 'C2' }))
  await harness.deliver(mention({ ts: '1700000003.000100', text: '<@UBOT> c' }))
  await idle()
  expect(inputs()).toEqual(['c'])
  expect(harness.slack.replies('C1', '1700000001.000100')).toMatchObject([
    { text: 'Sorry, <@U2>, I may not answer you here.', metadata: { event_type: 'tooltrail_notice' } },
  ])
})

test('the settings may name a tenant, agent and token for a workspace, and an agent for a channel', async () => {
  harness = await openSlackHarness({
    slack: {
      channels: { C9: { agent: 'other' } },
      workspaces: { T2: { tenant: 'acme', agent: 'other', token: '${secret:SLACK_TOKEN_ACME}' } },
    },
    secrets: { SLACK_TOKEN_ACME: 'xoxb-test' },
  })
  await harness.deliver({ ...directMessage({ ts: '1700000001.000100', text: 'hi' }), team_id: 'T2' })
  await harness.deliver(mention({ ts: '1700000001.000100', text: '<@UBOT> hi', channel: 'C9' }))
  await idle()
  const { sessions } = harness.http.ports
  expect(await sessions.read({ tenant: 'acme', session: 'slack-T2-D1-1700000001.000100' })).toMatchObject({
    agent: 'other',
  })
  expect(await sessions.read({ tenant: 'default', session: 'slack-T1-C9-1700000001.000100' })).toMatchObject({
    agent: 'other',
  })
})

test('events get 503, so that Slack delivers them again, until Slack identifies the bot', async () => {
  harness = await openSlackHarness()
  harness.slack.fault = () => 'broken'
  const event = directMessage({ ts: '1700000001.000100', text: 'hello' })
  expect((await harness.deliver(event)).status).toBe(503)
  harness.slack.fault = () => undefined
  expect((await harness.deliver(event, { 'x-slack-retry-num': '1' })).status).toBe(200)
  await idle()
  expect(inputs()).toEqual(['hello'])
})
