/* Each kind of Slack message reaches the model with all its texts, over HTTP and in Socket Mode. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { channelMessage, directMessage, mention } from '../../../slack-server/slack-events.ts'
import { startSocketServer } from '../../../slack-server/socket-server.ts'
import type { SocketServer } from '../../../slack-server/socket-server.ts'
import { openSlackHarness } from '../harness.ts'
import type { SlackHarness } from '../harness.ts'

let harness: SlackHarness
let stopping: AbortController
let socket: SocketServer | undefined
let listening: Promise<void> | undefined
beforeEach(() => void (stopping = new AbortController()))
afterEach(async () => {
  stopping.abort()
  await listening
  await harness.close()
  await socket?.close()
  socket = listening = undefined
})

type Wire = 'HTTP' | 'Socket Mode'
const WIRES: readonly Wire[] = ['HTTP', 'Socket Mode']

/** Opens the program. Returns a function with which Slack delivers an event to it. */
async function open(wire: Wire): Promise<(payload: object) => Promise<void>> {
  harness = await openSlackHarness()
  if (wire === 'HTTP') return async (payload) => expect((await harness.deliver(payload)).status).toBe(200)
  const server = (socket = await startSocketServer())
  listening = harness.listen(server, stopping.signal)
  await expect.poll(() => server.opened()).toBe(1)
  let sent = 0
  return async (payload) => {
    const envelope = { envelope_id: `e${++sent}` }
    server.send({ type: 'events_api', ...envelope, payload })
    await expect.poll(() => server.received).toContainEqual(envelope)
  }
}

/** Returns the parts of each input that the model received. */
const inputs = (): string[][] =>
  harness.http.requests.map(({ messages }) => {
    const parts = messages.findLast(({ role }) => role === 'user')?.parts ?? []
    return parts.map((part) => (part.type === 'text' ? part.text : part.type))
  })

const ROOT = '1690000000.000100'
let seconds = 1_700_000_000
const nextTs = (): string => `${++seconds}.000100`

const section = (...elements: object[]): object => ({ type: 'rich_text_section', elements })
const richText = (...elements: object[]): object => ({ type: 'rich_text', elements })
const text = (value: string): object => ({ type: 'text', text: value })
const mrkdwn = (value: string): object => ({ type: 'section', text: { type: 'mrkdwn', text: value } })

const forwarded = {
  is_share: true,
  is_msg_unfurl: true,
  author_name: 'Somebody',
  author_id: 'U9',
  channel_id: 'C9',
  ts: '1.1',
  text: 'The dibbler server is on &lt;fire&gt;',
  fallback: '[May 1st, 2026 1:00 PM] somebody: The dibbler server is on fire',
}
const FORWARDED = '[Forwarded message of Somebody:]\nThe dibbler server is on <fire>\n[End of the forwarded message.]'
const legacy = {
  color: 'danger',
  fallback: 'numbat: disk full',
  pretext: 'Alert of numbat',
  title: 'Disk full',
  title_link: 'https://numbat.example/1',
  text: 'The disk of *numbat* is full',
  fields: [{ title: 'Severity', value: 'high', short: true }],
  footer: 'Monitoring',
}
const LEGACY =
  '[Attachment:]\nAlert of numbat\n<https://numbat.example/1|Disk full>\nThe disk of *numbat* is full\n' +
  'Severity: high\nMonitoring\n[End of the attachment.]'

describe.each(WIRES)('over %s, the model gets', (wire) => {
  test.each<[string, object, string[]]>([
    [
      'a forwarded message with a caption',
      { text: 'please deal', attachments: [forwarded] },
      ['please deal', FORWARDED],
    ],
    ['a forwarded message alone', { text: '', attachments: [forwarded] }, [FORWARDED]],
    [
      'field/12/forwarded-message-without-text',
      { text: null, attachments: [{ ...forwarded, author_name: null }] },
      [FORWARDED.replace('Somebody', '<@U9>')],
    ],
    ['a legacy attachment', { text: 'see', attachments: [legacy] }, ['see', LEGACY]],
    [
      'an attachment that has a fallback only',
      { text: '', attachments: [{ fallback: 'build 7 failed' }] },
      ['[Attachment:]\nbuild 7 failed\n[End of the attachment.]'],
    ],
    [
      'the text of blocks',
      { text: '', blocks: [richText(section(text('only quoll in blocks')))] },
      ['only quoll in blocks'],
    ],
    [
      'field/12/block-only-message',
      {
        blocks: [
          { type: 'header', text: { type: 'plain_text', text: 'Deploy' } },
          { ...mrkdwn('*bilby* &amp; co'), fields: [{ type: 'mrkdwn', text: 'Who: <@U5>' }] },
          {
            type: 'context',
            elements: [
              { type: 'mrkdwn', text: 'at noon' },
              { type: 'image', alt_text: 'a clock' },
            ],
          },
          { type: 'actions', elements: [{ type: 'button', text: { type: 'plain_text', text: 'Ack' } }] },
        ],
      },
      ['Deploy\n*bilby* & co\nWho: <@U5>\nat noon a clock'],
    ],
    [
      'the kinds of rich text',
      {
        text: '',
        blocks: [
          richText(
            section(
              text('a < b '),
              { type: 'link', url: 'https://x.example', text: 'x' },
              { type: 'emoji', name: 'tada' },
            ),
            { type: 'rich_text_list', style: 'ordered', elements: [section(text('one')), section(text('two'))] },
            { type: 'rich_text_quote', elements: [text('said')] },
            { type: 'rich_text_preformatted', elements: [text('npm ci')] },
          ),
        ],
      },
      ['a < b <https://x.example|x>:tada:\n1. one\n2. two\n> said\n```\nnpm ci\n```'],
    ],
    [
      'text once that its blocks repeat',
      {
        text: 'a &lt; *b*, <https://x.example|x>',
        blocks: [
          richText(section(text('a < '), text('b'), text(', '), { type: 'link', url: 'https://x.example', text: 'x' })),
        ],
      },
      ['a < *b*, <https://x.example|x>'],
    ],
    [
      'the text of an app and its blocks, which say more',
      { text: 'Alert', blocks: [mrkdwn('CPU of potoroo at 99 %')] },
      ['Alert\nCPU of potoroo at 99 %'],
    ],
    [
      'the blocks of a forwarded message',
      {
        text: '',
        attachments: [
          {
            ...forwarded,
            text: '',
            message_blocks: [
              { team: 'T1', channel: 'C9', ts: '1.1', message: { blocks: [richText(section(text('wombat')))] } },
            ],
          },
        ],
      },
      ['[Forwarded message of Somebody:]\nwombat\n[End of the forwarded message.]'],
    ],
    [
      'field/12/own-client-in-a-direct-message',
      { text: 'from my client', bot_id: 'B7', app_id: 'A7' },
      ['from my client'],
    ],
  ])('%s', async (_name, message, expected) => {
    const deliver = await open(wire)
    await deliver(directMessage({ ts: nextTs(), ...message }))
    await expect.poll(inputs).toEqual([expected])
  })

  test('the files of a forwarded message, with their bytes', async () => {
    const deliver = await open(wire)
    harness.slack.files.set('log.txt', { type: 'text/plain', data: Buffer.from('a line') })
    const files = [{ id: 'F1', name: 'log.txt', mimetype: 'text/plain', url_private: harness.slack.fileUrl('log.txt') }]
    await deliver(
      directMessage({ ts: nextTs(), text: 'look', attachments: [{ is_share: true, author_name: 'Ann', files }] }),
    )
    await expect.poll(inputs).toHaveLength(1)
    const [parts = []] = inputs()
    const note = '[Forwarded message of Ann:]\n[file: log.txt]\n[End of the forwarded message.]'
    expect(parts).toEqual(['look', note, 'file'])
    const session = (await harness.sessions())[0] ?? ''
    const key = { tenant: 'default', session }
    const { messages } = await harness.http.ports.reader.messages(key, { order: 'ascending', limit: 1 })
    expect(messages[0]?.parts[2]).toMatchObject({ type: 'file', filename: 'log.txt', bytes: 6 })
  })

  test('the whole thread above the first mention: people, bots, alerts, files and our own posts', async () => {
    const deliver = await open(wire)
    const { slack } = harness
    const thread = { channel: 'C1', thread_ts: ROOT }
    const alert = { subtype: 'bot_message', bot_id: 'B9', username: 'Alertmanager', attachments: [legacy] }
    slack.state.messages.push({ channel: 'C1', ts: ROOT, ...alert, text: '' } as never)
    slack.write({ ...thread, bot_id: 'B8', bot_profile: { name: 'Deploys' }, blocks: [mrkdwn('quokka is out')] })
    slack.write({
      ...thread,
      bot_id: 'B7',
      attachments: [{ fallback: 'field/12: an alert' }],
      user: null,
      text: null,
    } as never)
    slack.write({ ...thread, user: 'U7', bot_id: 'B6', text: 'from my client' })
    slack.write({ ...thread, user: 'U8', text: 'this one?', attachments: [forwarded] })
    slack.write({ ...thread, user: 'U8', text: '', files: [{ id: 'F1', name: 'a.csv' }] } as never)
    slack.write({ ...thread, user: 'UBOT', bot_id: 'BBOT', text: 'posted by a script with our token' })
    const notice = { event_type: 'tooltrail_notice', event_payload: { notice: 'budget' } }
    slack.write({ ...thread, user: 'UBOT', bot_id: 'BBOT', text: 'a notice', metadata: notice })
    const ts = slack.write({ ...thread, user: 'U1', text: '<@UBOT> why?' })
    await deliver(mention({ ts, thread_ts: ROOT, text: '<@UBOT> why?' }))
    await expect.poll(inputs).toHaveLength(1)
    const [[context = '', asked] = []] = inputs()
    expect(context.split('\n')).toEqual([
      `Alertmanager (bot): ${LEGACY.replaceAll('\n', ' ')}`,
      'Deploys (bot): quokka is out',
      'B7 (bot): [Attachment:] field/12: an alert [End of the attachment.]',
      '<@U7>: from my client',
      `<@U8>: this one? ${FORWARDED.replaceAll('\n', ' ')}`,
      '<@U8>: [file: a.csv]',
      '<@UBOT>: posted by a script with our token',
    ])
    expect(asked).toBe('why?')
  })

  test('field/12/own-client-in-a-channel: a mention through an app with the token of a person', async () => {
    const deliver = await open(wire)
    harness.slack.state.users.set('U1', { isBot: false })
    await deliver(mention({ ts: nextTs(), text: '<@UBOT> from another app', bot_id: 'B7', app_id: 'A7' }))
    await expect.poll(inputs).toEqual([['from another app']])
    await deliver(mention({ ts: nextTs(), text: '<@UBOT> from our own app', bot_id: 'BBOT' }))
    await expect.poll(inputs).toEqual([['from another app'], ['from our own app']])
    expect(harness.slack.calls.filter(({ method }) => method === 'users.info')).toHaveLength(1)
  })
})

test('a mention by a bot, or by an author that Slack does not describe, is ignored', async () => {
  harness = await openSlackHarness()
  harness.slack.state.users.set('U2', { isBot: true })
  for (const user of ['U2', 'U3'])
    expect((await harness.deliver(mention({ ts: nextTs(), text: '<@UBOT> hi', bot_id: 'B7', user }))).status).toBe(200)
  expect(await harness.sessions()).toEqual([])
  expect(harness.http.lines).toContainEqual(
    expect.objectContaining({ level: 'warn', fields: expect.objectContaining({ user: 'U3' }) as object }),
  )
})

test('an event is refused with 503 while Slack does not identify its author', async () => {
  harness = await openSlackHarness()
  harness.slack.state.users.set('U1', { isBot: false })
  harness.slack.fault = ({ method }) => (method === 'users.info' ? 'broken' : undefined)
  const event = mention({ ts: nextTs(), text: '<@UBOT> hi', bot_id: 'B7' })
  expect((await harness.deliver(event)).status).toBe(503)
  harness.slack.fault = () => undefined
  expect((await harness.deliver(event)).status).toBe(200)
  await expect.poll(inputs).toEqual([['hi']])
})

test('a mention in blocks alone addresses the bot; a mention in a forwarded message does not', async () => {
  harness = await openSlackHarness()
  const user = { type: 'user', user_id: 'UBOT' }
  await harness.deliver(channelMessage({ ts: nextTs(), text: '', blocks: [richText(section(user, text(' numbat?')))] }))
  await expect.poll(inputs).toEqual([['numbat?']])
  const quoted = { ...forwarded, text: '<@UBOT> deploy' }
  await harness.deliver(channelMessage({ ts: nextTs(), text: 'see', attachments: [quoted] }))
  expect(await harness.sessions()).toHaveLength(1)
})

test('attachments that are too large are truncated, and the message is accepted', async () => {
  harness = await openSlackHarness()
  const attachments = [{ ...forwarded, text: 'x'.repeat(60_000) }, { text: '\u0001'.repeat(60_000) }]
  const files = [{ name: '\u0001'.repeat(200), url_private: '\u0001'.repeat(2_000) }]
  const many = Array.from({ length: 60 }, () => ({ is_share: true, files }))
  const event = directMessage({ ts: nextTs(), text: 'é'.repeat(79_000), attachments: [...attachments, ...many] })
  expect((await harness.deliver(event)).status).toBe(200)
  await expect.poll(inputs).toHaveLength(1)
  const [[own = '', attached = ''] = []] = inputs()
  expect(own).toHaveLength(79_000)
  expect(attached).toMatch(/^\[Forwarded message of Somebody:\]\nx+… \[the rest is left out\]$/)
})
