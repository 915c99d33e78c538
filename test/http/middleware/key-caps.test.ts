/* Evidence, limits: Concurrent inputs cannot exceed a key's cap. A repeated request returns its first run, even at the cap. */
/* Evidence, limits: A key's streams are counted over all processes; a killed process's slots are released within
 * five minutes. */
/* Evidence, limits: A tenant that the operator names has its own budget. */
/* Evidence, usage: A requested summary is refused once the tokens or the budget of the day are used up. */
/* Evidence, usage: Accepting a run checks the tokens of its key and the budget of its tenant. */
/* Evidence, access: Changed caps of a key apply from its next request on. A request with an expired key gets 401. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Caps } from '../../../functions/access/rates.ts'
import { expectJson, heldTurn, openHttpHarness, statusOf } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

let harness: HttpHarness
beforeEach(async () => {
  harness = await openHttpHarness()
})
afterEach(() => harness.close())

describe('caps', () => {
  test('on requests per second lead to 429 with a retry time', async () => {
    const key = await harness.key({ caps: { requestsPerSecond: 2 } })
    const statuses: number[] = []
    for (let count = 0; count < 4; count++) statuses.push(await statusOf(harness, 'GET', '/v1/sessions', key))
    expect(statuses.slice(0, 2)).toEqual([200, 200])
    expect(statuses).toContain(429)
    const response = await harness.send('GET', '/v1/sessions', undefined, key)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  })

  test('of an existing key apply from its next request', async () => {
    const key = await harness.key()
    for (let count = 0; count < 5; count++) expect(await statusOf(harness, 'GET', '/v1/sessions', key)).toBe(200)
    await harness.ports.keys.cap('key_1', { requestsPerSecond: 1 })
    const statuses: number[] = []
    for (let count = 0; count < 3; count++) statuses.push(await statusOf(harness, 'GET', '/v1/sessions', key))
    expect(statuses).toContain(429)
    await harness.ports.keys.cap('key_1', { requestsPerSecond: null })
    expect(await statusOf(harness, 'GET', '/v1/sessions', key)).toBe(200)
  })

  test('on active runs reject further inputs until a run has ended', async () => {
    await harness.close()
    const held = heldTurn()
    harness = await openHttpHarness({ script: [held.turn] })
    const key = await harness.key({ caps: { activeRuns: 1 } })
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' }, key)
    const input = { content: 'x' }
    const once = { ...key, prefer: 'wait=0', 'idempotency-key': 'once' }
    const { id } = await expectJson(harness, 202, 'POST', '/v1/sessions/s/messages', input, once)
    const response = await harness.send('POST', '/v1/sessions/s/messages', input, key)
    expect(response.status).toBe(429)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(await expectJson(harness, 202, 'POST', '/v1/sessions/s/messages', input, once)).toMatchObject({ id })
    held.letGo()
    await expect.poll(() => statusOf(harness, 'POST', '/v1/sessions/s/messages', key, input)).toBe(200)
  })

  test('on active runs apply to concurrent inputs, also to inputs that are stored slowly', async () => {
    await harness.close()
    const held = heldTurn()
    harness = await openHttpHarness({ script: [held.turn] })
    const key = await harness.key({ caps: { activeRuns: 1 } })
    const image = { type: 'image', media_type: 'image/png', data: PNG }
    const sessions = Array.from({ length: 20 }, (_, place) => `s${place}`)
    for (const id of sessions) await expectJson(harness, 201, 'POST', '/v1/sessions', { id }, key)
    const statuses = await Promise.all(
      sessions.map((id) =>
        statusOf(harness, 'POST', `/v1/sessions/${id}/messages`, { ...key, prefer: 'wait=0' }, { content: [image] }),
      ),
    )
    expect(statuses.toSorted((left, right) => left - right)).toEqual([202, ...Array.from({ length: 19 }, () => 429)])
    held.letGo()
  })

  test('on open streams reject further streams and waiting requests, but no short requests', async () => {
    await harness.close()
    const held = heldTurn()
    harness = await openHttpHarness({ script: [held.turn] })
    const key = await harness.key({ caps: { openCalls: 1 } })
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' }, key)
    const send = (headers: Record<string, string>) =>
      harness.send('POST', '/v1/sessions/s/messages', { content: 'x' }, { ...key, ...headers })
    const stream = await send({ accept: 'text/event-stream' })
    expect(stream.status).toBe(200)
    for (const headers of [
      {},
      { accept: 'text/event-stream' },
      { accept: 'text/event-stream', prefer: 'respond-async' },
    ]) {
      const refused = await send(headers)
      expect(refused.status).toBe(429)
      expect(await refused.json()).toMatchObject({
        type: expect.stringContaining('too_many_open_calls'),
        detail: expect.stringMatching(/^key \S+ has 1 stream or waiting call open/),
      })
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    }
    for (const prefer of ['respond-async', 'wait=0', 'respond-async, wait=0'])
      expect((await send({ prefer })).status).toBe(202)
    expect((await send({ prefer: 'respond-async, wait=1' })).status).toBe(429)
    expect(await statusOf(harness, 'GET', '/v1/sessions/s/messages', key)).toBe(200)
    await stream.body?.cancel()
    const next = await send({ accept: 'text/event-stream' })
    expect(next.status).toBe(200)
    held.letGo()
    expect(await next.text()).toContain('run.completed')
    expect((await send({})).status).toBe(200)
  })
})

describe('caps set by the operator', () => {
  /** Opens a program with these caps, and creates a session of a key without caps. */
  const spending = async (caps: Caps) => {
    const capped = await openHttpHarness({ settings: { caps } })
    const key = await capped.key()
    await expectJson(capped, 201, 'POST', '/v1/sessions', { id: 'a' }, key)
    return {
      capped,
      key,
      post: (headers = {}) => capped.send('POST', '/v1/sessions/a/messages', { content: 'x' }, { ...key, ...headers }),
    }
  }

  test('a named tenant has its own budget; other tenants have the default', async () => {
    const named = new Map([
      ['small', { tokensPerDay: 1 }],
      ['free', { tokensPerDay: null }],
    ])
    const capped = await openHttpHarness({
      settings: { caps: { keys: {}, tenants: { tokensPerDay: 1_000_000 }, named } },
    })
    const statuses = async (tenant: string): Promise<number[]> => {
      const key = await capped.key({ tenant })
      await expectJson(capped, 201, 'POST', '/v1/sessions', { id: 'a' }, key)
      const found: number[] = []
      for (let at = 0; at < 2; at++)
        found.push((await capped.send('POST', '/v1/sessions/a/messages', { content: 'x' }, key)).status)
      return found
    }
    expect(await statuses('small')).toEqual([200, 429])
    expect(await statuses('free')).toEqual([200, 200])
    expect(await statuses('other')).toEqual([200, 200])
    await capped.close()
  })

  test.each([
    ['key_tokens_used_up', { keys: { tokensPerDay: 1 }, tenants: {} }],
    ['tenant_budget_used_up', { keys: {}, tenants: { tokensPerDay: 1 } }],
  ])('%s: 429 has a retry time; a repeated request returns the run that was accepted before', async (code, caps) => {
    const { capped, post } = await spending(caps)
    const first = await post({ 'idempotency-key': 'k-1' })
    expect(first.status).toBe(200)
    const refused = await post()
    expect(refused.status).toBe(429)
    const seconds = Number(refused.headers.get('retry-after'))
    expect(seconds).toBeGreaterThan(0)
    expect(seconds).toBeLessThanOrEqual(86_400)
    expect(await refused.json()).toMatchObject({ type: `urn:tooltrail:problem:${code}` })
    const again = await post({ 'idempotency-key': 'k-1' })
    expect(again.status).toBe(200)
    expect(await again.json()).toMatchObject({ id: ((await first.json()) as { id: string }).id })
    await capped.close()
  })

  test.each([
    ['key_tokens_used_up', { keys: { tokensPerDay: 1 }, tenants: {} }],
    ['tenant_budget_used_up', { keys: {}, tenants: { tokensPerDay: 1 } }],
  ])(
    '%s: a summary is refused, even after an import; a repeated request returns its earlier summary',
    async (code, caps) => {
      const { capped, key, post } = await spending(caps)
      const messages = Array.from({ length: 15 }, (_, at) => `question ${at}`).flatMap((text) => [
        { role: 'user', content: text },
        { role: 'assistant', content: text },
      ])
      const summarise = (name: string) =>
        capped.send('POST', '/v1/sessions/a/consolidate', {}, { ...key, 'idempotency-key': name })
      const add = () => expectJson(capped, 200, 'POST', '/v1/sessions/a/import', { format: 'openai', messages }, key)
      await add()
      const made = await summarise('k-1')
      expect(made.status).toBe(200)
      await post()
      await add()
      const refused = await summarise('k-2')
      expect(refused.status).toBe(429)
      expect(await refused.json()).toMatchObject({ type: `urn:tooltrail:problem:${code}` })
      expect(await (await summarise('k-1')).json()).toEqual(await made.json())
      await capped.close()
    },
  )

  test('a key without a cap on requests has the default cap, and its own cap takes precedence', async () => {
    const { capped, key } = await spending({ keys: { requestsPerSecond: 1 }, tenants: {} })
    const statuses = async (headers: Record<string, string>) =>
      (await Promise.all([1, 2, 3].map(() => capped.send('GET', '/v1/sessions', undefined, headers)))).map(
        ({ status }) => status,
      )
    expect(await statuses(key)).toContain(429)
    expect(await statuses(await capped.key({ caps: { requestsPerSecond: 100 } }))).not.toContain(429)
    await capped.close()
  })
})
