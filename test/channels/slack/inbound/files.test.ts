import { afterEach, expect, test } from 'vitest'
import { channelMessage, directMessage, mention } from '../../../slack-server/slack-events.ts'
import { openSlackHarness } from '../harness.ts'
import type { SlackHarness } from '../harness.ts'

let harness: SlackHarness
afterEach(() => harness.close())

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const key = { tenant: 'default', session: 'slack-T1-D1-1700000001.000100' }

/** Delivers a message with these files. Returns the parts of the stored input. */
async function partsOf(files: readonly object[], text = 'look'): Promise<readonly object[]> {
  await harness.deliver(directMessage({ ts: '1700000001.000100', text, subtype: 'file_share', files }))
  let found: readonly object[] = []
  await expect
    .poll(async () => {
      const { messages } = await harness.http.ports.reader.messages(key, { order: 'ascending', limit: 1 })
      found = messages[0]?.parts ?? []
      return found.length
    })
    .toBeGreaterThan(0)
  return found
}

test("images and files are parts of the input, downloaded with the bot's token", async () => {
  harness = await openSlackHarness()
  harness.slack.files.set('cat.png', { type: 'image/png', data: PNG })
  harness.slack.files.set('a.csv', { type: 'text/csv', data: Buffer.from('a,b\n') })
  const parts = await partsOf([
    { name: 'cat.png', mimetype: 'image/png', url_private: harness.slack.fileUrl('cat.png'), size: PNG.length },
    { name: 'a.csv', mimetype: 'text/csv', url_private_download: harness.slack.fileUrl('a.csv') },
  ])
  expect(parts).toMatchObject([
    { type: 'text', text: 'look' },
    { type: 'image', mediaType: 'image/png', filename: 'cat.png', bytes: PNG.length },
    { type: 'file', filename: 'a.csv', bytes: 4 },
    { type: 'note' },
  ])
})

test.each([
  [
    'a login page in its place',
    { name: 'x.png', mimetype: 'image/png', url_private: '{base}/missing' },
    'sent a page in its place',
  ],
  [
    'an address that is not Slack’s',
    { name: 'x.png', mimetype: 'image/png', url_private: 'https://evil.example/x' },
    'could not be loaded',
  ],
  [
    'a name that only looks like Slack’s',
    { name: 'x.png', mimetype: 'image/png', url_private: 'https://evilslack.com/x' },
    'could not be loaded',
  ],
  ['no bytes at Slack', { name: 'doc', mode: 'external' }, 'has no bytes of it'],
  ['a size over the limit', { name: 'big', url_private: '{base}/big', size: 30_000_000 }, 'more than 20 MB'],
])(
  'a file with %s becomes a text with the reason, and the message is accepted',
  async (_what, file: Record<string, unknown>, reason) => {
    harness = await openSlackHarness()
    const url = file['url_private']
    const placed =
      typeof url === 'string' ? { ...file, url_private: url.replace('{base}', harness.slack.fileUrl('')) } : file
    const parts = await partsOf([placed])
    expect(parts).toMatchObject([
      { type: 'text', text: 'look' },
      { type: 'text', text: expect.stringContaining(reason) as string },
    ])
  },
)

test('two messages of a new thread that arrive together become inputs in their order', async () => {
  harness = await openSlackHarness()
  harness.slack.files.set('a.csv', { type: 'text/csv', data: Buffer.from('a,b\n') })
  const file = { name: 'a.csv', mimetype: 'text/csv', url_private: harness.slack.fileUrl('a.csv') }
  const ts = '1700000001.000100'
  const later = { ts: '1700000001.000200', thread_ts: ts, text: 'and this?' }
  const events = [mention({ ts, text: '<@UBOT> that?', files: [file] }), channelMessage(later)]
  for (const { status } of await Promise.all(events.map((event) => harness.deliver(event)))) expect(status).toBe(200)
  const inputs = async () => {
    const query = { order: 'ascending', roles: ['user'], limit: 5 } as const
    const { messages } = await harness.http.ports.reader.messages({ ...key, session: `slack-T1-C1-${ts}` }, query)
    return messages.map(({ parts: [first] }) => first?.type === 'text' && first.text)
  }
  await expect.poll(inputs).toEqual(['that?', 'and this?'])
})
