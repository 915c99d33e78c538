/* Evidence, deliveries: GitHub's documented deliveries and signatures are accepted unchanged. */
import { createHmac } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { z } from 'zod'
import { NO_CAPS } from '../../../functions/access/rates.ts'
import { channelFields, channelSettings } from '../../../functions/runtime/settings/channel-settings.ts'
import { openChannels, openEndpoints } from '../../../functions/runtime/channels.ts'
import { githubHeaders, issueDelivery, pingDelivery, SIGNED_EXAMPLE } from '../../fixtures/github-deliveries.ts'
import { openHttpHarness, type HttpHarness } from '../../http/harness.ts'

/** The webhook of docs/guides/webhooks.md for an agent that answers issues. */
const ISSUES = {
  verify: { preset: 'github', secrets: ['${secret:GITHUB}'] },
  when: { '/action': ['opened', 'reopened'] },
  text: 'Issue {{/issue/number}} was opened: {{/issue/title}}\n\n{{/issue/body}}',
  session: 'gh-{{/repository/id}}-{{/issue/number}}',
  owner: '{{/sender/login}}',
}
const KEY = { tenant: 'default', session: 'gh-186853002-1' }

let harness: HttpHarness
afterEach(() => harness.close())

async function open(): Promise<void> {
  const channels = channelSettings(z.strictObject(channelFields).parse({ webhooks: { issues: ISSUES } }))
  const secrets = async () => () => SIGNED_EXAMPLE.secret
  harness = await openHttpHarness({
    script: [{ text: 'Thanks.' }, { text: 'Again?' }],
    channels: (ports) => openChannels({ ...ports, channels, allowedHosts: [], secrets }),
    endpoints: (ports) => (service) =>
      openEndpoints({ ...ports, agents: new Map(), caps: NO_CAPS, channels, secrets, here: true }, service),
  })
}

async function send(event: string, delivery: string, body: object | string, signature?: string) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const own = `sha256=${createHmac('sha256', SIGNED_EXAMPLE.secret).update(text).digest('hex')}`
  const headers = {
    ...githubHeaders(event, delivery),
    'content-type': 'application/json',
    'x-hub-signature-256': signature ?? own,
  }
  const url = 'http://hooks.example.test/webhooks/issues'
  const response = await harness.program.app.request(url, { method: 'POST', body: text, headers })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

async function inputs(): Promise<readonly { readonly user?: string; readonly text: string }[]> {
  const query = { order: 'ascending', limit: 10, roles: ['user'] } as const
  const { messages } = await harness.ports.reader.messages(KEY, query)
  return messages.map((message) => ({
    ...(message.role === 'user' && message.user !== undefined ? { user: message.user } : {}),
    text: message.parts.map((part) => ('text' in part ? part.text : '')).join(''),
  }))
}

test('an issue that is opened and reopened becomes two inputs of one session', async () => {
  await open()
  const [first, second] = ['72d3162e-cc78-11e3-81ab-4c9367dc0958', '81ab162e-cc78-11e3-81ab-4c9367dc0958']
  expect(await send('issues', first, issueDelivery('opened'))).toMatchObject({
    status: 202,
    body: { object: 'delivery', id: first, session_id: KEY.session },
  })
  expect((await send('issues', second, issueDelivery('reopened'))).status).toBe(202)
  const text =
    "Issue 1 was opened: Spelling error in the README file\n\nIt looks like you accidently spelled 'commit' with two 't's."
  await expect.poll(inputs).toEqual([
    { user: 'Codertocat', text },
    { user: 'Codertocat', text },
  ])
  expect((await harness.ports.sessions.read(KEY))?.owner).toBe('Codertocat')
})

test('a repeated delivery starts no second run, also if the unsigned header has another id', async () => {
  await open()
  const first = await send('issues', 'one', issueDelivery('opened'))
  expect(await send('issues', 'one', issueDelivery('opened'))).toEqual(first)
  expect((await send('issues', 'other', issueDelivery('opened'))).body['run_id']).toBe(first.body['run_id'])
  await expect.poll(inputs).toHaveLength(1)
})

test.each(['assigned', 'closed', 'deleted', 'edited', 'labeled', 'transferred'])(
  'an event that the settings do not request is acknowledged and ignored: %s',
  async (action) => {
    await open()
    expect(await send('issues', action, issueDelivery(action))).toEqual({
      status: 200,
      body: { object: 'delivery', id: action, ignored: true },
    })
    expect(await harness.ports.sessions.read(KEY)).toBeUndefined()
  },
)

test('the first ping of a webhook is acknowledged and ignored', async () => {
  await open()
  expect(await send('ping', 'ping', pingDelivery)).toMatchObject({ status: 200, body: { ignored: true } })
})

test("GitHub's documented example passes the signature check, and fails the check without the last letter of its body", async () => {
  await open()
  const { body, signature } = SIGNED_EXAMPLE
  expect((await send('issues', 'example', body, signature)).status).toBe(400)
  expect((await send('issues', 'example', body.slice(0, -1), signature)).status).toBe(401)
})
