/* Evidence, clients: A repeated turn in a named session is one run, even if its first request was interrupted at any write. */
/* A repeated request attaches to its run, or is a new turn, by one rule (record 31). */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { sha256 } from '../../../../functions/domain/hash.ts'
import { ModelError } from '../../../../functions/ports/model.ts'
import type { Turn } from '../../../agent/harness.ts'
import { heldTurn, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'

let harness: HttpHarness
beforeEach(() => vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(async () => {
  vi.useRealTimers()
  await harness.close()
})
const later = (minutes: number): unknown => vi.setSystemTime(Date.now() + minutes * 60_000)

interface Said {
  readonly role: string
  readonly content: string
}
const said = (content: string): Said => ({ role: 'user', content })
const answer = (content: string): Said => ({ role: 'assistant', content })

type Headers = Record<string, string>
const retry = { 'x-stainless-retry-count': '1' }
const first = { 'x-stainless-retry-count': '0' }
const key = { 'idempotency-key': 'order-1' }

/** The formats in which a client sends its messages. */
const WIRES = {
  'Chat Completions': {
    path: '/openai/v1/chat/completions',
    body: (messages: readonly Said[]) => ({ model: 'default', messages: [...messages] }),
    text: (body: unknown) => (body as { choices: { message: { content: string } }[] }).choices[0]?.message.content,
  },
  Responses: {
    path: '/openai/v1/responses',
    body: (messages: readonly Said[]) => ({ model: 'default', input: [...messages] }),
    text: (body: unknown) =>
      (body as { output: { content?: { text: string }[] }[] }).output.map(({ content }) => content?.[0]?.text).join(''),
  },
}

describe.each(Object.entries(WIRES))('%s:', (_name, wire) => {
  const post = (messages: readonly Said[], headers: Headers, more: object = {}): Promise<Response> =>
    harness.send('POST', wire.path, { ...wire.body(messages), ...more }, headers)
  const text = async (messages: readonly Said[], headers: Headers, more: object = {}): Promise<unknown> => {
    const response = await post(messages, headers, more)
    return response.status === 200 ? wire.text(await response.json()) : response.status
  }
  /** Sends a request and disconnects once its run has started. */
  async function leave(messages: readonly Said[], headers: Headers, more: object = {}): Promise<void> {
    const before = harness.requests.length
    const response = await post(messages, headers, { ...more, stream: true })
    await expect.poll(() => harness.requests.length).toBe(before + 1)
    await response.body?.cancel()
  }
  const ended = (status = 'completed') =>
    expect
      .poll(async () => {
        const { data } = (await (await harness.send('GET', '/v1/sessions')).json()) as { data: { run?: object }[] }
        return data[0]
      })
      .toMatchObject({ run: { status } })
  const sessions = async (): Promise<number> =>
    ((await (await harness.send('GET', '/v1/sessions')).json()) as { data: object[] }).data.length

  describe.each<[string, Headers]>([
    ['in a session that it names', { 'x-session-id': 'job' }],
    ['without a session', {}],
  ])('a request %s', (_where, place) => {
    test('attaches to its run if it is repeated before the response was delivered', async () => {
      const held = heldTurn()
      harness = await openHttpHarness({ script: [held.turn, { text: 'Two.' }] })
      await leave([said('Do it')], { ...place, ...first })
      later(5)
      const again = text([said('Do it')], { ...place, ...retry })
      held.letGo()
      expect(await again).toBe('thinking')
      expect(harness.requests).toHaveLength(1)
      expect(await sessions()).toBe(1)
    })

    test('attaches hours after the end of its run, despite differences in whitespace and Unicode form', async () => {
      const held = heldTurn()
      harness = await openHttpHarness({ script: [held.turn, { text: 'Two.' }] })
      await leave([said('Do it,\r\ncafe\u0301')], place)
      held.letGo()
      await ended()
      later(300)
      expect(await text([said(' Do it,\ncaf\u00e9\n')], { ...place, ...retry })).toBe('thinking')
      expect(await text([said('Do it,\ncaf\u00e9')], { ...place, ...retry })).toBe('Two.')
    })

    test.each<[string, Headers]>([
      ['says nothing about a repetition', {}],
      ['says that it is the first', first],
    ])('is a new turn if it %s, although the response was not delivered', async (_what, headers) => {
      const held = heldTurn()
      harness = await openHttpHarness({ script: [held.turn, { text: 'Two.' }] })
      await leave([said('yes')], { ...place, ...headers })
      held.letGo()
      await ended()
      expect(await text([said('yes')], { ...place, ...headers })).toBe('Two.')
    })

    test.each([false, true])('is a new turn once its response was delivered: stream %j', async (stream) => {
      harness = await openHttpHarness({ script: [{ text: 'One.' }, { text: 'Two.' }] })
      await (await post([said('yes')], place, { stream })).text()
      expect(await text([said('yes')], { ...place, ...retry })).toBe('Two.')
    })

    test('is a new turn if its user or its text is different', async () => {
      const held = heldTurn()
      harness = await openHttpHarness({ script: [held.turn, { text: 'Two.' }, { text: 'Three.' }] })
      await leave([said('yes')], place, { user: 'ann' })
      held.letGo()
      await ended()
      expect(await text([said('yes!')], { ...place, ...retry }, { user: 'ann' })).toBe('Two.')
      expect(await text([said('yes')], { ...place, ...retry }, { user: 'bob' })).toBe('Three.')
    })

    test('attaches to the newest of two runs whose responses were not delivered, then to the other', async () => {
      const [one, two] = [heldTurn(), heldTurn()]
      harness = await openHttpHarness({ script: [one.turn, two.turn, { text: 'Three.' }] })
      await leave([said('yes')], place)
      one.letGo()
      await ended()
      later(1)
      await leave([said('yes')], place)
      two.letGo()
      await ended()
      const ids = []
      for (let turn = 0; turn < 2; turn++) {
        const response = await post([said('yes')], { ...place, ...retry })
        ids.push(response.headers.get('x-run-id'))
        await response.text()
      }
      expect(String(ids[0]) > String(ids[1])).toBe(true)
      expect(harness.requests).toHaveLength(2)
      expect(await text([said('yes')], { ...place, ...retry })).toBe('Three.')
    })

    test('is a new turn after a failed run, if the client received the error', async () => {
      const fails: Turn = async function* () {
        yield { type: 'text.delta', part: 0, text: 'x' }
        throw new ModelError('provider_error', 'gone', { retryable: false })
      }
      harness = await openHttpHarness({ script: [fails, { text: 'Two.' }] })
      await (await post([said('Do it')], place)).text()
      expect(await text([said('Do it')], { ...place, ...retry })).toBe('Two.')
    })

    test('attaches under its idempotency key, also after its response was delivered', async () => {
      const held = heldTurn()
      harness = await openHttpHarness({ script: [held.turn, { text: 'Two.' }] })
      await leave([said('Do it')], { ...place, ...key })
      const again = [text([said('Do it')], { ...place, ...key }), text([said(' Do it\n')], { ...place, ...key })]
      held.letGo()
      expect(await Promise.all(again)).toEqual(['thinking', 'thinking'])
      later(60)
      expect(await text([said('Do it')], { ...place, ...key })).toBe('thinking')
      expect(await text([said('Do it')], { ...place, 'idempotency-key': 'order-2' })).toBe('Two.')
    })

    test('creates another answer if an equal history is sent without a retry header', async () => {
      harness = await openHttpHarness({ script: [{ text: 'Hello.' }, { text: 'One.' }, { text: 'Two.' }] })
      await text([said('Hi')], place)
      const turn = [said('Hi'), answer('Hello.'), said('Do it')]
      expect([await text(turn, place), await text(turn, place)]).toEqual(['One.', 'Two.'])
    })
  })
})

test('a turn that an earlier version recorded in a named session is found when it is repeated', async () => {
  const held = heldTurn()
  harness = await openHttpHarness({ script: [held.turn] })
  const { names, sessions } = harness.ports
  await harness.send('POST', '/v1/sessions', { id: 'job' })
  const body = JSON.stringify({ model: 'default', messages: [said('Do it')] })
  const scope = JSON.stringify([null, null, 'default', null])
  const hash = sha256(body)
  const key = { tenant: 'default', session: 'job' }
  const keyHash = sha256(`chat-completions  ${hash}`)
  const idempotency = { keyHash, bodyHash: hash }
  const parts = [{ type: 'text' as const, text: 'Do it' }]
  const session = await sessions.read(key)
  if (session === undefined) throw new Error('no session')
  const { runId } = await harness.program.service.submit(
    session,
    { parts, clientTools: [], idempotency },
    { here: true },
  )
  await names.give(key, `turn ${sha256(JSON.stringify([scope, 'job', hash]))}`, { before: '' }, Date.now() + 60_000)
  const headers = { 'x-session-id': 'job', ...retry }
  const response = harness.send('POST', '/openai/v1/chat/completions', body, {
    ...headers,
    'content-type': 'application/json',
  })
  held.letGo()
  expect((await response).headers.get('x-run-id')).toBe(runId)
})
