/* Evidence, deliveries: Two deliveries are different even if their ids differ only after 2,048 characters. */
/* Evidence, usage: Runs from webhooks and Slack count against the tenant's budget; a thread gets one notice. */
import { createHmac } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { Webhook } from 'standardwebhooks'
import { z } from 'zod'
import { NO_CAPS, type Caps } from '../../../functions/access/rates.ts'
import { sampleDelivery } from '../../../functions/channels/webhooks/sample.ts'
import { channelFields, channelSettings } from '../../../functions/runtime/settings/channel-settings.ts'
import { openChannels, openEndpoints } from '../../../functions/runtime/channels.ts'
import type { Turn } from '../../agent/harness.ts'
import { openHttpHarness, type HttpHarness } from '../../http/harness.ts'
import { openReceiver, SECRET } from '../callbacks/receiver.ts'

const NEXT_SECRET = `whsec_${Buffer.from('another secret of some characters').toString('base64')}`
const SECRETS: Record<string, string> = { OLD: SECRET, NEW: NEXT_SECRET, PLAIN: 'plain secret' }

let harness: HttpHarness
afterEach(() => harness.close())
const verify = { preset: 'standard', secrets: ['${secret:NEW}', '${secret:OLD}'] }
const ISSUE = {
  verify: { preset: 'github', secrets: ['${secret:PLAIN}'] },
  when: { '/action': ['opened', 'reopened'] },
  text: 'Issue {{/issue/number}} was opened: {{/issue/title}}\n\n{{/issue/body}}',
  session: 'gh-{{/repository/id}}-{{/issue/number}}',
  owner: '{{/sender/login}}',
}
const WEBHOOKS = {
  orders: { verify, text: 'Order {{/id}}: {{/items}} {{/none}}', session: 'order-{{/id}}' },
  issues: ISSUE,
  owned: { verify, text: '{{/text}}', session: 's-{{/id}}', owner: '{{/who}}' },
  plain: { verify: { preset: 'bearer', secrets: ['${secret:PLAIN}'] }, text: '{{/text}}', session: '{{/to}}' },
  keyed: {
    verify: { preset: 'bearer', secrets: ['${secret:PLAIN}'] },
    ...{ text: '{{/text}}', session: 'one', delivery: '{{/key}}' },
    callback: { url: '{{/reply_to}}', secret: '${secret:OLD}' },
  },
}

const channels = () => channelSettings(z.strictObject(channelFields).parse({ webhooks: WEBHOOKS }))

async function open(allowed: readonly string[] = [], caps: Caps = NO_CAPS): Promise<void> {
  const secrets = async () => (name: string) => SECRETS[name]
  const script = Array.from({ length: 8 }, (): Turn => ({ text: 'Thanks.' }))
  harness = await openHttpHarness({
    script,
    channels: (ports) => openChannels({ ...ports, channels: channels(), allowedHosts: allowed, secrets }),
    endpoints: (ports) => (service) =>
      openEndpoints({ ...ports, agents: new Map(), caps, channels: channels(), secrets, here: true }, service),
  })
}

async function post(name: string, body: unknown, headers: Record<string, string>) {
  const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  const url = `http://hooks.example.test/webhooks/${name}`
  const sent = { 'content-type': 'application/json', ...headers }
  const response = await harness.program.app.request(url, { method: 'POST', body: text as string, headers: sent })
  const retryAfter = response.headers.get('retry-after')
  return {
    status: response.status,
    body: (await response.json()) as Record<string, unknown>,
    ...(retryAfter === null ? {} : { retryAfter }),
  }
}

/** Sends a body that is signed as the sender's package signs it. */
function sendSigned(name: string, body: unknown, options: { secret?: string; id?: string; at?: Date } = {}) {
  const { secret = SECRET, id = 'msg_1', at = new Date() } = options
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  const signature = new Webhook(secret).sign(id, at, text)
  return post(name, text, { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature })
}

function sendGithub(body: unknown, id: string, headers: Record<string, string> = {}) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const signature = `sha256=${createHmac('sha256', 'plain secret').update(text).digest('hex')}`
  return post('issues', text, { 'x-github-delivery': id, 'x-hub-signature-256': signature, ...headers })
}

const bearer = { authorization: 'Bearer plain secret' }

async function sessions(): Promise<string[]> {
  const found = await harness.ports.sessions.list({ tenant: 'default', limit: 100 })
  return found.sessions.map(({ session }) => session)
}

async function inputs(session: string): Promise<string[]> {
  const { messages } = await harness.ports.reader.messages(
    { tenant: 'default', session },
    { order: 'ascending', limit: 100, roles: ['user'] },
  )
  return messages.map(({ parts }) => parts.map((part) => ('text' in part ? part.text : '')).join(''))
}

test('a signed delivery is accepted at once, as an input of the session that the delivery names', async () => {
  await open()
  const sent = await sendSigned('orders', { id: 7, items: [{ name: 'pen' }] })
  expect(sent).toEqual({
    status: 202,
    body: { object: 'delivery', id: 'msg_1', session_id: 'order-7', run_id: expect.stringMatching(/^[0-9A-Z]{26}$/) },
  })
  await expect.poll(() => inputs('order-7')).toEqual(['Order 7: [{"name":"pen"}] '])
})

test.each(['orders', 'issues', 'plain', 'keyed'])('the sample delivery of %s starts a run', async (name) => {
  await open()
  const webhook = channels().webhooks.get(name)
  if (webhook === undefined) throw new Error(`there is no webhook ${name}`)
  const secret = webhook.verify.secrets[0] === '${secret:NEW}' ? NEXT_SECRET : 'plain secret'
  const { body, headers } = sampleDelivery(webhook, { secret, id: 'one', at: new Date() })
  expect(await post(name, body, headers)).toMatchObject({ status: 202 })
  expect(await sessions()).toHaveLength(1)
})

test('a malformed escape in the name of a webhook gets 404', async () => {
  await open()
  expect((await post('%E0%A4%A', {}, bearer)).status).toBe(404)
})

test('an authorization scheme in lower case is accepted', async () => {
  await open()
  const small = { authorization: 'bearer plain secret' }
  expect(await post('plain', { to: 'a', text: 'hi' }, small)).toMatchObject({ status: 202 })
})

test('during a rotation both secrets are accepted, but no others', async () => {
  await open()
  expect((await sendSigned('orders', { id: 1 }, { secret: SECRET, id: 'a' })).status).toBe(202)
  expect((await sendSigned('orders', { id: 2 }, { secret: NEXT_SECRET, id: 'b' })).status).toBe(202)
  const other = `whsec_${Buffer.from('a secret of somebody else who guesses').toString('base64')}`
  expect((await sendSigned('orders', { id: 3 }, { secret: other, id: 'c' })).status).toBe(401)
})

test('a repeated delivery starts no second run, even if its body differs', async () => {
  await open()
  const [first, second] = await Promise.all([sendSigned('orders', { id: 1 }), sendSigned('orders', { id: 1 })])
  expect(second).toEqual(first)
  expect(await sendSigned('orders', { id: 2 })).toEqual(first)
  await expect.poll(() => inputs('order-1')).toHaveLength(1)
  expect(await sessions()).toEqual(['order-1'])
})

test('an invalid delivery gets a 4xx in the order of the checks, and nothing is stored', async () => {
  await open()
  const old = new Date(Date.now() - 301_000)
  const huge = 'x'.repeat(5 * 1_024 * 1_024)
  const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`
  const found = [
    await sendSigned('nobody', huge),
    await sendSigned('__proto__', { id: 1 }),
    await post('orders', huge, {}),
    await post('orders', { id: 1 }, {}),
    await sendSigned('orders', { id: 1 }, { at: old }),
    await sendSigned('orders', { id: 1 }, { at: new Date(Date.now() + 301_000) }),
    await post('plain', { to: 'a' }, { authorization: 'Bearer plain secre' }),
    await sendSigned('orders', 'not JSON'),
    await sendSigned('orders', deep),
    await post('plain', Buffer.from([0x22, 0xff, 0x22]), bearer),
    await sendGithub('payload=%7B%7D', 'd1', { 'content-type': 'application/x-www-form-urlencoded' }),
    await post('keyed', { text: 'hi' }, bearer),
    await sendSigned('orders', { identity: 1 }),
    await sendSigned('orders', null),
  ]
  expect(found.map(({ status }) => status)).toEqual([
    ...[404, 404, 413, 401, 401, 401, 401, 400, 400, 400, 415, 422, 422, 422],
  ])
  expect(found.every(({ body }) => typeof body['type'] === 'string')).toBe(true)
  expect(found.at(-2)?.body).toMatchObject({ errors: [{ path: 'session', message: '{{/id}} points to nothing' }] })
  expect(found[11]?.body).toMatchObject({ errors: [{ path: 'delivery' }] })
  expect(await sessions()).toEqual([])
})

test('two deliveries whose ids differ only after 2,048 characters start two runs; repetitions start none', async () => {
  await open()
  const start = 'i'.repeat(2_048)
  const send = (end: string) => post('keyed', { text: `number ${end}`, key: `${start}-${end}` }, bearer)
  const [one, two] = [await send('1'), await send('2')]
  expect([one.status, two.status]).toEqual([202, 202])
  expect(two.body['run_id']).not.toBe(one.body['run_id'])
  expect([one.body['id'], two.body['id']]).toEqual([start, start])
  expect([await send('1'), await send('2')]).toEqual([one, two])
  await expect.poll(() => inputs('one')).toEqual(['number 1', 'number 2'])
})

test('a delivery that an earlier version stored under its plain id is still recognised', async () => {
  await open()
  const { received, clock } = harness.ports
  const until = clock.now() + 60_000
  await received.remember('default', ['keyed:id:k1'], JSON.stringify(['k1', 'one']), until)
  const first = await post('keyed', { text: 'hi', key: 'k1' }, bearer)
  expect(await post('keyed', { text: 'hi', key: 'k1' }, bearer)).toEqual(first)
  await expect.poll(() => inputs('one')).toEqual(['hi'])
})

test('owners that are too long are truncated, and stay distinct if they differ only at the end', async () => {
  await open()
  const owners: (string | undefined)[] = []
  for (const [place, end] of ['a', 'b', '😀'].entries()) {
    await sendSigned('owned', { id: place, text: 'hi', who: `${'o'.repeat(255)}${end}${end}` }, { id: `m${place}` })
    owners.push((await harness.ports.sessions.read({ tenant: 'default', session: `s-${place}` }))?.owner)
  }
  expect(new Set(owners).size).toBe(3)
  for (const owner of owners) expect(owner?.length === 256 && owner.isWellFormed()).toBe(true)
})

test("another owner's session gets no messages of a conversation, even if that session has the conversation's id", async () => {
  await open()
  const make = (session: string, owner: string, ownerBound: boolean) =>
    harness.ports.sessions.create({
      ...{ tenant: 'default', session, agent: 'default', owner, metadata: {} },
      ...(ownerBound ? { ownerBound: true } : {}),
    })
  for (const [id, owner, bound] of [
    ['1', 'bob', true],
    ['2', 'bob', false],
    ['3', 'ada', true],
  ] as const)
    await make(`s-${id}`, owner, bound)
  const deliver = async (id: string, who: string) =>
    (await sendSigned('owned', { id, text: 'for ada alone', who }, { id: `m-${id}-${who}` })).status
  expect([await deliver('1', 'ada'), await deliver('2', 'ada'), await deliver('3', 'ada')]).toEqual([202, 202, 202])
  expect((await harness.ports.reader.runs({ tenant: 'default', session: 's-1' }, { limit: 9 })).runs).toEqual([])
  // The webhook continues a session that it created, even if another client has used the session.
  expect(await deliver('4', 'ada')).toBe(202)
  await harness.ports.sessions.bindToOwner({ tenant: 'default', session: 's-4' })
  expect(await deliver('4', 'eve')).toBe(202)
})

test('a reply address that is too long does not block its run, and is listed as refused', async () => {
  await open()
  const url = `https://example.test/${'a'.repeat(500_000)}`
  expect((await post('keyed', { text: 'hi', key: 'k1', reply_to: url }, bearer)).status).toBe(202)
  const list = async () => (await (await harness.send('GET', '/v1/callbacks?session=one')).json()) as unknown
  const attempts = [{ at: expect.any(String), error: 'the address has more than 2048 characters' }]
  await expect.poll(list).toMatchObject({ data: [{ status: 'failed', attempts }] })
  expect(await inputs('one')).toEqual(['hi'])
})

test('a delivery that the filter excludes is acknowledged and ignored', async () => {
  await open()
  const sent = await sendGithub({ action: 'closed', issue: { number: 1 }, repository: { id: 5 } }, 'd1')
  expect(sent).toEqual({ status: 200, body: { object: 'delivery', id: 'd1', ignored: true } })
  expect(await sessions()).toEqual([])
})

test('a GitHub delivery is recognised by its body, because its id is not signed', async () => {
  await open()
  const body = {
    action: 'opened',
    issue: { number: 3, title: '{{/sender/login}}', body: null },
    ...{ repository: { id: 5 }, sender: { login: 'ann' } },
  }
  const first = await sendGithub(body, 'd1')
  expect(first).toMatchObject({ status: 202, body: { id: 'd1', session_id: 'gh-5-3' } })
  expect(await sendGithub(body, 'd2')).toEqual(first)
  await expect.poll(() => inputs('gh-5-3')).toEqual(['Issue 3 was opened: {{/sender/login}}\n\n'])
  expect(await harness.ports.sessions.read({ tenant: 'default', session: 'gh-5-3' })).toMatchObject({ owner: 'ann' })
})

test("deliveries over the tenant's daily budget get 429 until the next day, and create no session", async () => {
  await open([], { keys: {}, tenants: { tokensPerDay: 1 } })
  const first = await sendSigned('orders', { id: 1 }, { id: 'a' })
  expect(first.status).toBe(202)
  await expect
    .poll(async () => (await harness.ports.sessions.read({ tenant: 'default', session: 'order-1' }))?.run?.status)
    .toBe('completed')
  for (const id of [1, 2]) {
    const refused = await sendSigned('orders', { id }, { id: `b${id}` })
    expect(refused).toMatchObject({ status: 429, body: { type: 'urn:tooltrail:problem:tenant_budget_used_up' } })
    expect(Number(refused.retryAfter)).toBeGreaterThan(0)
  }
  expect(await sendSigned('orders', { id: 1 }, { id: 'a' })).toEqual(first)
  expect([await sessions(), await inputs('order-1')]).toEqual([['order-1'], ['Order 1:  ']])
})

test('a callback is sent to the address in the delivery; a forbidden address is listed as failed', async () => {
  const receiver = await openReceiver()
  try {
    await open([receiver.host])
    const sent = await post('keyed', { text: 'hi', key: 'k1', reply_to: receiver.url }, bearer)
    await expect.poll(() => receiver.requests.length).toBe(1)
    expect(receiver.requests[0]).toMatchObject({ id: sent.body['run_id'], type: 'run.completed' })
    expect((await post('keyed', { text: 'hi', key: 'k2' }, bearer)).status).toBe(202)
    const bad = await post('keyed', { text: 'hi', key: 'k3', reply_to: 'https://127.0.0.1:1/' }, bearer)
    expect(bad.status).toBe(202)
    const list = async () => {
      const response = await harness.send('GET', '/v1/callbacks?session=one')
      return ((await response.json()) as { data: { id: string; name: string; attempts: { error?: string }[] }[] }).data
    }
    await expect.poll(async () => (await list())[0]?.attempts[0]?.error).toMatch(/not a public one/)
    expect((await list()).map(({ id, name }) => [id, name])).toEqual([
      [bad.body['run_id'], 'webhook:keyed'],
      [sent.body['run_id'], 'webhook:keyed'],
    ])
  } finally {
    await receiver.close()
  }
})
