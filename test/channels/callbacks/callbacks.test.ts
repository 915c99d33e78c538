/* Evidence, api: Responses, events and callbacks show raw arguments, a session's user and the input of a waiting
 * run. */
/* Evidence, deliveries: A callback is retried until its receiver accepts it. Each attempt has the same id and bytes. */
/* Evidence, access: A key bound to an owner sees no callback of another owner. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { callbackBody } from '../../../functions/http/v1/callbacks/body.ts'
import { channelSettings } from '../../../functions/runtime/settings/channel-settings.ts'
import { openChannels } from '../../../functions/runtime/channels.ts'
import { makeTool, type Turn } from '../../agent/harness.ts'
import { expectJson, heldTurn, openHttpHarness, type HttpHarness } from '../../http/harness.ts'
import { openReceiver, SECRET, type Receiver } from './receiver.ts'

let receiver: Receiver
let harness: HttpHarness
/** Milliseconds by which the program's clock is ahead of real time. */
let ahead = 0
beforeEach(async () => {
  ahead = 0
  receiver = await openReceiver()
})
afterEach(async () => {
  await harness.close()
  await receiver.close()
})

interface Callback {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly run_id: string
  readonly attempts: readonly { readonly at: string; readonly status?: number; readonly error?: string }[]
  readonly next_at?: string
}

async function open(script: readonly Turn[], { url = receiver.url, allowed = [receiver.host] } = {}): Promise<void> {
  const channels = channelSettings({ webhooks: {}, callbacks: { crm: { url, secret: '${secret:CRM}' } } })
  const secrets = async () => (name: string) => (name === 'CRM' ? SECRET : undefined)
  harness = await openHttpHarness({
    script,
    tools: [makeTool('long', async () => ({ text: 'long '.repeat(9_000) }))],
    change: (ports) => ({ ...ports, clock: { ...ports.clock, now: () => Date.now() + ahead } }),
    channels: (ports) => openChannels({ ...ports, channels, allowedHosts: allowed, secrets }),
    callbacks: new Set(['crm']),
  })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
}

const send = (fields: object = {}): Promise<{ id: string; status: string }> =>
  expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'hi', callback: 'crm', ...fields })

const list = async (query = ''): Promise<Callback[]> =>
  (await expectJson<{ data: Callback[] }>(harness, 200, 'GET', `/v1/callbacks${query}`)).data

const dataOf = (place: number) =>
  (JSON.parse(receiver.requests[place]?.body ?? '{}') as { data: { status: string; messages: { role: string }[] } })
    .data

test('the end of a run is sent once, signed, with the run and its messages', async () => {
  await open([{ text: 'Hello.' }])
  const run = await send()
  await expect.poll(() => list()).toMatchObject([{ id: run.id, name: 'crm', status: 'delivered', run_id: run.id }])
  expect(receiver.requests).toHaveLength(1)
  expect(receiver.requests[0]).toMatchObject({ id: run.id, type: 'run.completed' })
  expect(dataOf(0)).toMatchObject({
    id: run.id,
    status: 'completed',
    messages: [{ role: 'user' }, { role: 'assistant' }],
  })
  const [shown] = await list()
  expect(shown).toMatchObject({ attempts: [{ status: 204 }] })
  expect(shown).not.toHaveProperty('next_at')
})

test('a receiver that is down for a day gets retries on schedule, with a constant id and body', async () => {
  await open([{ text: 'Hello.' }])
  receiver.respond = () => ({ status: 500 })
  await send()
  await expect.poll(() => list()).toMatchObject([{ status: 'pending', attempts: [{ status: 500 }] }])
  for (const [place, seconds] of [5, 30, 120, 600, 3_600, 14_400, 43_200].entries()) {
    const before = receiver.requests.length
    const [shown] = await list()
    const wait = Date.parse(shown?.next_at ?? '') - Date.parse(shown?.attempts.at(-1)?.at ?? '')
    expect(wait).toBeGreaterThanOrEqual(seconds * 1_000)
    expect(wait).toBeLessThan(seconds * 1_210 + 1_000)
    ahead += seconds * 1_200
    await expect.poll(async () => (await list())[0]?.attempts.length).toBe(place + 2)
    expect(receiver.requests.length).toBe(before + 1)
  }
  receiver.respond = () => ({ status: 200 })
  const [shown] = await list()
  expect(Date.parse(shown?.next_at ?? '') - Date.parse(shown?.attempts[0]?.at ?? '')).toBeGreaterThan(86_400_000)
  ahead += 43_200 * 1_200
  await expect.poll(() => list()).toMatchObject([{ status: 'delivered' }])
  expect(new Set(receiver.requests.map(({ id }) => id)).size).toBe(1)
  expect(new Set(receiver.requests.map(({ body }) => body)).size).toBe(1)
  expect(receiver.requests).toHaveLength(9)
})

test('a callback is kept as failed after the last attempt, and is sent again on request', async () => {
  await open([{ text: 'Hello.' }])
  receiver.respond = () => ({ status: 503 })
  const run = await send()
  await expect.poll(async () => (await list())[0]?.attempts.length).toBe(1)
  for (let attempts = 2; attempts <= 9; attempts++) {
    ahead += 60 * 3_600 * 1_000
    await expect.poll(async () => (await list())[0]?.attempts.length).toBe(attempts)
  }
  await expect.poll(() => list('?status=failed')).toMatchObject([{ id: run.id }])
  receiver.respond = () => ({ status: 200 })
  const again = await expectJson<Callback>(harness, 202, 'POST', `/v1/callbacks/${run.id}/redeliver`)
  expect(again).toMatchObject({ id: run.id, status: 'pending' })
  await expect.poll(() => list('?status=delivered&session=s')).toMatchObject([{ id: run.id }])
  expect(new Set(receiver.requests.map(({ body }) => body)).size).toBe(1)
  await expectJson(harness, 202, 'POST', `/v1/callbacks/${run.id}/redeliver`)
  await expect.poll(() => receiver.requests.length).toBe(11)
})

test('a callback whose workers keep crashing fails, reports the crashes, and can be sent again on request', async () => {
  await open([{ text: 'Hello.' }])
  receiver.respond = () => ({ status: 503 })
  const run = await send()
  await expect.poll(async () => (await list())[0]?.attempts.length).toBe(1)
  const left = async (begun: number, due = 0): Promise<void> => {
    const seen = await harness.ports.outbox.read({ tenant: 'default', session: 's', id: run.id })
    if (seen !== undefined) await harness.ports.outbox.change(seen, { begun, due })
  }
  await left(20)
  await expect.poll(() => list('?status=failed')).toMatchObject([{ id: run.id }])
  const [shown] = await list()
  expect(shown?.attempts).toMatchObject([{ status: 503 }, { error: expect.stringMatching(/20 times in a row/) }])
  expect(receiver.requests).toHaveLength(1)
  receiver.respond = () => ({ status: 200 })
  await expectJson(harness, 202, 'POST', `/v1/callbacks/${run.id}/redeliver`)
  await expect.poll(() => list('?status=delivered')).toMatchObject([{ id: run.id }])
  // A redelivery is also possible while the callback is pending.
  receiver.respond = () => ({ status: 503 })
  await expectJson(harness, 202, 'POST', `/v1/callbacks/${run.id}/redeliver`)
  await expect.poll(() => receiver.requests.length).toBe(3)
  await left(20, Date.now() + 60_000)
  await expectJson(harness, 202, 'POST', `/v1/callbacks/${run.id}/redeliver`)
  await expect.poll(() => receiver.requests.length).toBe(4)
  // A redelivery resets the number of failures.
  const seen = await harness.ports.outbox.read({ tenant: 'default', session: 's', id: run.id })
  if (seen !== undefined) await harness.ports.outbox.change(seen, { failures: 149 })
  await expectJson(harness, 202, 'POST', `/v1/callbacks/${run.id}/redeliver`)
  await expect.poll(() => receiver.requests.length).toBe(5)
  await expect
    .poll(() => harness.ports.outbox.read({ tenant: 'default', session: 's', id: run.id }))
    .toMatchObject({ status: 'pending', failures: 0 })
})

test('status 410 ends the delivery, a redirect is not followed, and an aborted connection is retried', async () => {
  await open([{ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' }])
  receiver.respond = () => ({ status: 410 })
  await send()
  await expect.poll(() => list()).toMatchObject([{ status: 'failed', attempts: [{ status: 410 }] }])
  receiver.respond = () => ({ status: 302, headers: { location: receiver.url } })
  await send()
  await expect.poll(async () => (await list())[0]).toMatchObject({ status: 'pending', attempts: [{ status: 302 }] })
  expect(receiver.requests).toHaveLength(2)
  receiver.respond = () => undefined
  await send()
  await expect.poll(async () => (await list())[0]).toMatchObject({ status: 'pending' })
  await expect.poll(async () => (await list())[0]?.attempts[0]?.error).toMatch(/cannot be reached/)
})

test('an internal address that is not allowed gets no request, and the list shows the reason', async () => {
  await open([{ text: 'Hello.' }], { url: 'https://169.254.169.254/latest', allowed: [] })
  await send()
  await expect.poll(async () => (await list())[0]?.attempts[0]?.error).toMatch(/not a public one/)
})

test('each pause has its own callback, with the state of the run at that pause', async () => {
  await open([{ calls: [{ name: 'ask', id: 'c1' }] }, { text: 'Done.' }])
  const tools = [{ name: 'ask', description: 'Asks.', parameters: { type: 'object' } }]
  const run = await send({ tools })
  expect(run.status).toBe('paused')
  await expect.poll(() => receiver.requests.length).toBe(1)
  expect(receiver.requests[0]).toMatchObject({ id: `${run.id}.1`, type: 'run.paused' })
  expect(dataOf(0)).toMatchObject({ status: 'paused', waiting: [{ tool_call_id: 'c1', arguments: '{}' }] })
  const results = [{ tool_call_id: 'c1', output: 'yes' }]
  await expectJson(harness, 200, 'POST', `/v1/sessions/s/runs/${run.id}/tool-results`, { results })
  await expect.poll(() => receiver.requests.length).toBe(2)
  expect(receiver.requests[1]).toMatchObject({ id: run.id, type: 'run.completed' })
  await expect.poll(() => list('?status=delivered')).toHaveLength(2)
})

test('a body over 256 KB has pointers in place of long results, and contains all texts', async () => {
  await open([{ calls: Array.from({ length: 8 }, () => ({ name: 'long' })) }, { text: 'All read.' }])
  await send()
  await expect.poll(() => receiver.requests.length).toBe(1)
  const { body = '' } = receiver.requests[0] ?? {}
  expect(Buffer.byteLength(body)).toBeLessThanOrEqual(256 * 1_024)
  expect(body).toMatch(/\[Full text: output:[0-9A-Z]{26}\]/)
  expect(body).toContain('All read.')
})

test('the callback of a run that was cancelled before its start contains the input, truncated if too long', async () => {
  const held = heldTurn()
  await open([held.turn])
  const key = { tenant: 'default', session: 's' }
  const send = async (content: string): Promise<string> => {
    const headers = { prefer: 'respond-async' }
    return (await expectJson<{ id: string }>(harness, 202, 'POST', '/v1/sessions/s/messages', { content }, headers)).id
  }
  await send('first')
  for (const content of ['later', 'x'.repeat(300_000)]) {
    const id = await send(content)
    await expectJson(harness, 202, 'POST', `/v1/sessions/s/runs/${id}/cancel`)
    const run = await harness.ports.reader.run(key, id)
    const body = run && (JSON.parse(await callbackBody(harness.ports.reader, key, run)) as object)
    const text = content.length < 1_000 ? content : `${content.slice(0, 500)}\n\n[Full text: run ${id}]`
    const data = { id, status: 'cancelled', input: { parts: [{ type: 'text', text }] }, messages: [] }
    expect(body).toMatchObject({ type: 'run.cancelled', data })
  }
  held.letGo()
})

test('deleting the session removes its pending callbacks', async () => {
  await open([{ text: 'Hello.' }])
  receiver.respond = () => ({ status: 500 })
  const run = await send()
  await expect.poll(() => list()).toMatchObject([{ status: 'pending', attempts: [{ status: 500 }] }])
  await expectJson(harness, 200, 'DELETE', '/v1/sessions/s')
  expect(await list()).toEqual([])
  expect((await harness.send('POST', `/v1/callbacks/${run.id}/redeliver`)).status).toBe(404)
  ahead += 6_000
  await harness.program.stop()
  expect(receiver.requests).toHaveLength(1)
})

test('unknown names are rejected with their path, and nothing is stored', async () => {
  await open([])
  const body = { content: 'hi', callback: 'nobody' }
  const problem = await expectJson(harness, 400, 'POST', '/v1/sessions/s/messages', body)
  expect(problem).toMatchObject({ errors: [{ path: 'body.callback' }] })
  expect(await harness.ports.outbox.pending({ tenant: 'default', session: 's' }, 1)).toEqual([])
})

test('a redelivery needs an admin key for the agent; other tenants and owners see no callback', async () => {
  await open([{ text: 'Hello.' }])
  const run = await send()
  await expect.poll(() => list('?status=delivered')).toHaveLength(1)
  const writer = await harness.key()
  const path = `/v1/callbacks/${run.id}/redeliver`
  expect((await harness.send('POST', path, undefined, writer)).status).toBe(403)
  const foreign = await harness.key({ tenant: 'other', scopes: ['admin'] })
  expect((await harness.send('POST', path, undefined, foreign)).status).toBe(404)
  const bound = await harness.key({ owner: 'somebody', scopes: ['admin'] })
  expect((await harness.send('POST', path, undefined, bound)).status).toBe(404)
  const ofOther = await harness.key({ agents: ['other'], scopes: ['admin'] })
  expect((await harness.send('POST', path, undefined, ofOther)).status).toBe(403)
  for (const key of [foreign, bound]) {
    expect(await expectJson(harness, 200, 'GET', '/v1/callbacks', undefined, key)).toMatchObject({ data: [] })
    await expectJson(harness, 404, 'GET', '/v1/callbacks?session=s', undefined, key)
  }
})

test('a key bound to an owner pages through that owner’s callbacks, and sees no others', async () => {
  await open(Array.from({ length: 6 }, (): Turn => ({ text: 'Hello.' })))
  const runs: string[] = []
  for (const [place, owner] of ['ann', 'bob', 'ann', 'bob', 'ann', 'bob'].entries()) {
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: `of-${place}`, owner })
    const body = { content: 'hi', callback: 'crm' }
    const run = await expectJson<{ id: string }>(harness, 200, 'POST', `/v1/sessions/of-${place}/messages`, body)
    if (owner === 'ann') runs.unshift(run.id)
  }
  const ann = await harness.key({ owner: 'ann' })
  const read = (query: string, key = ann) =>
    expectJson<{ data: Callback[]; next: string | null }>(harness, 200, 'GET', `/v1/callbacks?${query}`, undefined, key)
  const seen: unknown[] = []
  for (let next: string | null = ''; next !== null;) {
    const page = await read(`limit=1${next === '' ? '' : `&after=${next}`}`)
    seen.push([page.data.map(({ id }) => id), page.next])
    next = page.next
  }
  const [newest, middle, oldest] = runs
  expect(seen).toEqual([
    [[newest], `callback_${newest}`],
    [[middle], `callback_${middle}`],
    [[oldest], null],
  ])
  expect((await read('session=of-0')).data).toHaveLength(1)
  // An id of a run is not a cursor of this list.
  const other = `/v1/callbacks?after=${newest}`
  expect(await expectJson(harness, 422, 'GET', other, undefined, ann)).toMatchObject({
    errors: [{ path: 'query.after' }],
  })
  for (const session of ['of-1', 'nowhere'])
    await expectJson(harness, 404, 'GET', `/v1/callbacks?session=${session}`, undefined, ann)
  expect(await read('limit=1', await harness.key({ owner: 'eve' }))).toMatchObject({ data: [], next: null })
})
