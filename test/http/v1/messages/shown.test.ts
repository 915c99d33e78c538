/* Evidence, api: Responses, events and callbacks show raw arguments, a session's user and the input of a waiting
 * run. */
/* Evidence, limits: While a follower waits for a run to start, the run's input is not kept in memory. */
import { afterEach, describe, expect, test } from 'vitest'
import { makeTool } from '../../../agent/harness.ts'
import { expectJson, heldTurn, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'
import { until } from '../../../eventually.ts'

const echo = makeTool('echo', async () => ({ text: 'ok' }))
const RAW = '{"b":1, "a": 2.0}'
let harness: HttpHarness
afterEach(() => harness.close())

async function open(...options: Parameters<typeof openHttpHarness>): Promise<void> {
  harness = await openHttpHarness(...options)
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's', user: 'ann' })
}
interface Shown {
  readonly id: string
  readonly role: string
  readonly arguments?: string
  readonly user?: string
}
const post = <Body>(content: unknown, more: object = {}, headers: Record<string, string> = {}): Promise<Body> =>
  expectJson<Body>(
    harness,
    'prefer' in headers ? 202 : 200,
    'POST',
    '/v1/sessions/s/messages',
    { content, ...more },
    headers,
  )

describe('a tool message shows the arguments of its call as the model sent them', () => {
  const twoRounds = [
    {
      calls: [
        { id: 'c', name: 'echo', arguments: RAW },
        { id: 'd', name: 'echo', arguments: '{"' },
      ],
    },
    { calls: [{ id: 'c', name: 'echo', arguments: '{"other": true}' }] },
    { text: 'done' },
  ]
  const expected = [RAW, '{"', '{"other": true}']

  test('in the response, in lists of any page size, and in lists of only tools', async () => {
    await open({ script: twoRounds, tools: [echo] })
    const run = await post<{ messages: Shown[] }>('go')
    const argumentsOf = (messages: readonly Shown[]) =>
      messages.flatMap((one) => (one.role === 'tool' ? [one.arguments] : []))
    expect(argumentsOf(run.messages)).toEqual(expected)
    expect(run.messages.every(({ role, arguments: text }) => role === 'tool' || text === undefined)).toBe(true)
    for (const query of ['limit=100', 'limit=1', 'limit=1&roles=tool', 'limit=2&order=desc']) {
      const found: Shown[] = []
      for (let next: string | null = ''; next !== null;) {
        const path = `/v1/sessions/s/messages?${query}${next === '' ? '' : `&after=${next}`}`
        const page: { data: Shown[]; next: string | null } = await expectJson(harness, 200, 'GET', path)
        found.push(...page.data)
        next = page.next
      }
      expect(argumentsOf(query.includes('desc') ? found.toReversed() : found)).toEqual(expected)
    }
  })

  test('in events, also of a waiting call', async () => {
    await open({ script: [{ calls: [{ id: 'c', name: 'ask', arguments: RAW }] }] })
    const tools = [{ name: 'ask', description: '', parameters: {} }]
    const { id } = await post<{ id: string }>('go', { tools })
    const text = await (await harness.send('GET', `/v1/sessions/s/runs/${id}/events`)).text()
    const lines = text.split('\n').filter((line) => line.startsWith('data: '))
    const data = lines.map((line) => JSON.parse(line.slice(6)) as { type: string })
    expect(data.filter(({ type }) => type === 'tool_call.started')).toMatchObject([{ message: { arguments: RAW } }])
  })
})

describe('the user of a session', () => {
  test('is the user of inputs that name no user', async () => {
    await open({ script: [{ text: '1' }, { text: '2' }, { text: '3' }] })
    expect(await expectJson(harness, 200, 'GET', '/v1/sessions/s')).toMatchObject({ user: 'ann' })
    const userOf = async (more: object) => (await post<{ messages: Shown[] }>('hi', more)).messages[0]?.user
    expect(await userOf({})).toBe('ann')
    expect(await userOf({ user: 'bob' })).toBe('bob')
    expect(await expectJson(harness, 200, 'PATCH', '/v1/sessions/s', { title: 't' })).toMatchObject({ user: 'ann' })
    expect(await expectJson(harness, 200, 'PATCH', '/v1/sessions/s', { user: null })).not.toHaveProperty('user')
    expect(await userOf({})).toBeUndefined()
    await expectJson(harness, 400, 'PATCH', '/v1/sessions/s', { user: '' })
    await expectJson(harness, 400, 'POST', '/v1/sessions', { user: 7 })
  })
})

describe('the input of a run that has not started', () => {
  const input = { parts: [{ type: 'text', text: 'later' }], user: 'bob', metadata: { ticket: 'T-1' } }
  const ask = async (): Promise<string> =>
    (await post<{ id: string }>('later', { user: 'bob', metadata: { ticket: 'T-1' } }, { prefer: 'respond-async' })).id
  const read = (id: string) => expectJson<object>(harness, 200, 'GET', `/v1/sessions/s/runs/${id}`)

  test('is shown while the run is queued or cancelled, but not after the run has started', async () => {
    const held = heldTurn()
    await open({ script: [held.turn, { text: 'done' }] })
    const first = await post<{ id: string }>('go', {}, { prefer: 'respond-async' })
    const [cancelled, queued] = [await ask(), await ask()]
    expect(await read(cancelled)).toMatchObject({ status: 'queued', input })
    expect(await expectJson(harness, 200, 'GET', '/v1/sessions/s/runs')).toMatchObject({
      data: [{ id: queued, input }, { id: cancelled, input }, { id: first.id }],
    })
    expect(await read(first.id)).not.toHaveProperty('input')
    await expectJson(harness, 202, 'POST', `/v1/sessions/s/runs/${cancelled}/cancel`)
    expect(await read(cancelled)).toMatchObject({ status: 'cancelled', input })
    held.letGo()
    await until(async () => 'ended_at' in (await read(queued)))
    expect(await read(queued)).not.toHaveProperty('input')
  })

  test('is shown by every response and event that contains the run', async () => {
    const held = heldTurn()
    await open({ script: [held.turn, { text: 'done' }] })
    await post('go', {}, { prefer: 'respond-async' })
    const body = { content: 'later', user: 'bob', metadata: { ticket: 'T-1' } }
    const send = (status: number, headers: Record<string, string>) =>
      expectJson<{ id: string }>(harness, status, 'POST', '/v1/sessions/s/messages', body, headers)
    const [first, repeated] = [
      await send(202, { prefer: 'respond-async', 'idempotency-key': 'k' }),
      await send(202, { prefer: 'wait=0', 'idempotency-key': 'k' }),
    ]
    expect([first, repeated]).toEqual([await read(first.id), await read(first.id)])
    expect(first).toMatchObject({ status: 'queued', input })
    const path = `/v1/sessions/s/runs/${first.id}`
    const events = harness.send('GET', `${path}/events`)
    const waiting = send(200, { prefer: 'wait=30', 'idempotency-key': 'k' })
    const reader = (await events).body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = (await reader?.read())?.value ?? ''
    const cancelled = await expectJson(harness, 202, 'POST', `${path}/cancel`)
    expect(cancelled).toEqual(await read(first.id))
    expect(cancelled).toMatchObject({ status: 'cancelled', input })
    expect(await waiting).toEqual({ ...cancelled, messages: [] })
    expect(await send(202, { prefer: 'respond-async', 'idempotency-key': 'k' })).toEqual(cancelled)
    for (let end = false; !end;) {
      const { value = '', done = true } = (await reader?.read()) ?? {}
      text += value
      end = done
    }
    const runs = [...text.matchAll(/^data: (?<data>.*)$/gmv)].map(
      ({ groups }) => (JSON.parse(groups?.['data'] ?? '') as { run: unknown }).run,
    )
    expect(runs).toEqual([first, cancelled])
    held.letGo()
  })

  test('is shown completely even if it is long, also to a client with much unread data', async () => {
    const held = heldTurn()
    await open({ script: [held.turn] })
    await post('go', {}, { prefer: 'respond-async' })
    const content = 'x'.repeat(3_500_000)
    const send = () => harness.send('POST', '/v1/sessions/s/messages', { content }, { prefer: 'respond-async' })
    const id = ((await (await send()).json()) as { id: string }).id
    const unread: Response[] = []
    for (let at = 0; at < 12; at++) unread.push(await send())
    expect(new Set(unread.map(({ status }) => status))).toEqual(new Set([202]))
    const cancel = harness.send('POST', `/v1/sessions/s/runs/${id}/cancel`)
    const run = (await (await cancel).json()) as { status: string; input: { parts: { text: string }[] } }
    expect([run.status, run.input.parts[0]?.text === content]).toEqual(['cancelled', true])
    await Promise.all(unread.map(async ({ body }) => body?.cancel()))
    held.letGo()
  })

  test('names its files without an address', async () => {
    const held = heldTurn()
    await open({ script: [held.turn] })
    await post('go', {}, { prefer: 'respond-async' })
    const data = Buffer.from('plain').toString('base64')
    const file = { type: 'file', media_type: 'text/plain', filename: 'a.txt', data }
    const { id } = await post<{ id: string }>([file], {}, { prefer: 'respond-async' })
    const run = (await read(id)) as { input: { parts: object[] } }
    expect(run.input.parts).toEqual([
      { type: 'file', id: expect.any(String), media_type: 'text/plain', filename: 'a.txt', bytes: 5 },
    ])
    held.letGo()
  })

  test('counts towards the byte limit of a list', async () => {
    const held = heldTurn()
    await open({ script: [held.turn] })
    await post('go', {}, { prefer: 'respond-async' })
    for (let at = 0; at < 3; at++) await post('x'.repeat(1_900_000), {}, { prefer: 'respond-async' })
    const response = await harness.send('GET', '/v1/sessions/s/runs?limit=100')
    const page = (await response.json()) as { data: { id: string }[]; next: string; has_more: boolean }
    expect([page.data.length, page.has_more]).toEqual([2, true])
    expect(await expectJson(harness, 200, 'GET', `/v1/sessions/s/runs?after=${page.next}`)).toMatchObject({
      data: [{ status: 'queued' }, { status: 'running' }],
    })
    held.letGo()
  })
})
