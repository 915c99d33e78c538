import type OpenAI from 'openai'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ModelError } from '../../../../functions/ports/model.ts'
import type { Turn } from '../../../agent/harness.ts'
import { heldTurn, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'
import { logOf, openAiClient, refusal } from '../openai-client.ts'

type Messages = OpenAI.ChatCompletionMessageParam[]

let harness: HttpHarness
beforeEach(() => vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(async () => {
  vi.useRealTimers()
  await harness.close()
})
const later = (minutes: number): unknown => vi.setSystemTime(Date.now() + minutes * 60_000)

const headers = { 'x-session-id': 'job' }
const said = (content: string): Messages[number] => ({ role: 'user', content })
const answer = (content: string): Messages[number] => ({ role: 'assistant', content })
const texts = async (): Promise<unknown[]> =>
  (await logOf(harness, 'job')).map(({ parts }) => (parts as { text?: string }[])[0]?.text)

/** Each `create` is a request of its own, as from a process that knows nothing of the last one. */
async function open(...script: Turn[]) {
  harness = await openHttpHarness({ script })
  const client = openAiClient(harness)
  const whole = (...messages: Messages) =>
    client.chat.completions.create({ model: 'default', messages }, { headers, maxRetries: 0 })
  return {
    client,
    whole,
    text: async (...messages: Messages) => (await whole(...messages)).choices[0]?.message.content,
    /** Sends it and leaves, once the run has begun. */
    async leave(...messages: Messages) {
      const before = harness.requests.length
      const leaving = new AbortController()
      const options = { headers, signal: leaving.signal, maxRetries: 0 }
      const sent = client.chat.completions.create({ model: 'default', messages }, options).catch(() => undefined)
      await expect.poll(() => harness.requests.length).toBe(before + 1)
      leaving.abort()
      await sent
    },
  }
}
const becomes = (status: string) =>
  expect
    .poll(async () => (await (await harness.send('GET', '/v1/sessions/job')).json()) as object)
    .toMatchObject({ run: { status } })

describe('the same body in a session that it names', () => {
  test('joins the run that it has begun', async () => {
    const held = heldTurn()
    const { text, leave } = await open(held.turn)
    await leave(said('Do it'))
    later(5)
    const again = [text(said('Do it')), text(said('Do it'))]
    held.letGo()
    expect(await Promise.all(again)).toEqual(['thinking', 'thinking'])
    expect(await texts()).toEqual(['Do it', 'thinking'])
  })

  test('sent twice at once is one turn', async () => {
    const { text } = await open({ text: 'One.' }, { text: 'Two.' })
    const twice = [text(said('Do it')), text(said('Do it'))]
    expect(new Set(await Promise.all(twice))).toEqual(new Set(['One.']))
    expect(await texts()).toEqual(['Do it', 'One.'])
  })

  test('is given the answer that nobody was sent, for ten minutes', async () => {
    const held = heldTurn()
    const { text, leave } = await open(held.turn, { text: 'Two.' })
    await leave(said('Do it'))
    held.letGo()
    await becomes('completed')
    later(9)
    expect(await text(said('Do it'))).toBe('thinking')
    expect(await text(said('Do it'))).toBe('Two.')
    expect(await texts()).toEqual(['Do it', 'thinking', 'Do it', 'Two.'])
  })

  test('is new after ten minutes, or when something else has gone on', async () => {
    const [first, second] = [heldTurn(), heldTurn()]
    const { text, leave } = await open(first.turn, second.turn, { text: 'By the way.' }, { text: 'Three.' })
    await leave(said('Do it'))
    first.letGo()
    await becomes('completed')
    later(11)
    await leave(said('Do it'))
    second.letGo()
    await becomes('completed')
    await text(said('By the way?'))
    expect(await text(said('Do it'))).toBe('Three.')
    expect((await texts()).filter((one) => one === 'Do it')).toHaveLength(3)
  })

  test('is new once its answer was sent: somebody says yes twice', async () => {
    const { text } = await open({ text: 'One.' }, { text: 'Two.' }, { text: 'Three.' })
    const answers = [await text(said('yes')), await text(said('yes')), await text(said('yes'))]
    expect(answers).toEqual(['One.', 'Two.', 'Three.'])
  })

  test('is new while its run goes on for more than ten minutes', async () => {
    const held = heldTurn()
    const { text, leave } = await open(held.turn, { text: 'Two.' })
    await leave(said('yes'))
    later(11)
    const second = text(said('yes'))
    await becomes('queued')
    held.letGo()
    expect(await second).toBe('Two.')
  })

  test('is new while its run waits for results, once that was shown for a minute', async () => {
    const asks = { calls: [{ id: 'c1', name: 'weather' }] }
    const { client } = await open(asks, { text: 'Two.' })
    const tools = [{ type: 'function' as const, function: { name: 'weather' } }]
    const body = { model: 'default', messages: [said('Weather?')], tools }
    const create = async () => (await client.chat.completions.create(body, { headers })).choices[0]
    const reasons = [(await create())?.finish_reason, (await create())?.finish_reason]
    later(2)
    expect([...reasons, (await create())?.message.content]).toEqual(['tool_calls', 'tool_calls', 'Two.'])
  })

  test('is new after a run that failed', async () => {
    const fails: Turn = async function* () {
      yield { type: 'text.delta', part: 0, text: 'x' }
      throw new ModelError('provider_error', 'gone', { retryable: false })
    }
    const { text, whole } = await open({ text: 'Hello.' }, fails, { text: 'Two.' })
    await text(said('Hi'))
    later(1)
    const messages = [said('Hi'), answer('Hello.'), said('Do it')]
    expect(await refusal(whole(...messages))).toMatchObject({ status: 502 })
    expect(await text(...messages)).toBe('Two.')
  })
})

describe('the same body with what came before', () => {
  const before = [said('Hi'), answer('Hello.')]

  test('is the same turn for a day, although its answer was sent', async () => {
    const { text } = await open({ text: 'Hello.' }, { text: 'Done.' }, { text: 'Bye.' }, { text: 'Again.' })
    await text(said('Hi'))
    const turn = [...before, said('Do it')]
    expect(await text(...turn)).toBe('Done.')
    later(60)
    expect(await text(...turn)).toBe('Done.')
    expect(await text(...turn, answer('Done.'), said('Bye'))).toBe('Bye.')
    // Also when its client is behind.
    expect(await text(...turn)).toBe('Done.')
    expect(harness.requests).toHaveLength(3)
    later(24 * 60)
    expect(await text(...turn)).toBe('Again.')
  })

  test('is the same turn while its run goes on, however long', async () => {
    const held = heldTurn()
    const { text, leave } = await open(held.turn)
    await leave(...before, said('Do it'))
    later(5)
    const again = text(...before, said('Do it'))
    held.letGo()
    expect(await again).toBe('thinking')
    expect(await texts()).toEqual(['Hi', 'Hello.', 'Do it', 'thinking'])
  })

  test('is the same turn although the answers are alike, if it is the whole history', async () => {
    const { text } = await open({ text: 'Done.' }, { text: 'Done.' }, { text: 'Done.' })
    await text(said('next'))
    const turn = [said('next'), answer('Done.'), said('next')]
    await text(...turn)
    await text(...turn)
    expect(harness.requests).toHaveLength(2)
    await text(...turn, answer('Done.'), said('next'))
    expect(harness.requests).toHaveLength(3)
  })

  test('is new for a client that sends the last messages only and has seen the answer', async () => {
    const { text } = await open({ text: 'Done.' }, { text: 'Done.' }, { text: 'Done.' }, { text: 'Done.' })
    await text(said('next'))
    for (let turn = 0; turn < 3; turn++) await text(answer('Done.'), said('next'))
    expect(harness.requests).toHaveLength(4)
  })

  test('and a key is the turn of the key', async () => {
    const { client, text } = await open({ text: 'Done.' }, { text: 'Done again.' })
    const messages = [...before, said('Do it')]
    await text(...messages)
    const keyed = { headers: { ...headers, 'idempotency-key': 'second' } }
    const second = await client.chat.completions.create({ model: 'default', messages }, keyed)
    expect(second.choices[0]?.message.content).toBe('Done again.')
  })

  test('with results of tools and words beside them stores neither again', async () => {
    const { client } = await open({ calls: [{ id: 'c1', name: 'weather' }] }, { text: 'Rain.' }, { text: 'Bye.' })
    const tools = [{ type: 'function' as const, function: { name: 'weather' } }]
    const create = (messages: Messages) =>
      client.chat.completions.create({ model: 'default', messages, tools }, { headers, maxRetries: 0 })
    const asked = (await create([said('Weather?')])).choices[0]?.message
    if (asked === undefined) throw new Error('no message')
    const result = { role: 'tool' as const, tool_call_id: 'c1', content: 'rain' }
    const turn = [said('Weather?'), asked, result, said('And bye')]
    const first = (await create(turn)).choices[0]?.message.content
    later(30)
    expect((await create(turn)).choices[0]?.message.content).toBe(first)
    expect((await logOf(harness, 'job')).filter(({ role }) => role === 'user')).toHaveLength(2)
  })
})

describe('a Response in a conversation', () => {
  const conversation = async () => {
    const opened = await open({ text: 'One.' }, { text: 'Two.' })
    await harness.send('POST', '/v1/sessions', { id: 'job' })
    const body = { model: 'default', input: 'yes', conversation: 'job' }
    return (more: { background?: true } = {}) => opened.client.responses.create({ ...body, ...more })
  }

  test('is new once it was sent, or its client has its id and it has ended', async () => {
    let create = await conversation()
    expect([(await create()).output_text, (await create()).output_text]).toEqual(['One.', 'Two.'])
    await harness.close()
    create = await conversation()
    const first = await create({ background: true })
    await becomes('completed')
    expect((await create({ background: true })).id).not.toBe(first.id)
  })

  test('is the same while its run goes on', async () => {
    const held = heldTurn()
    const { client } = await open(held.turn)
    await harness.send('POST', '/v1/sessions', { id: 'job' })
    const body = { model: 'default', input: 'yes', conversation: 'job' }
    const both = [client.responses.create(body), client.responses.create(body)]
    await expect.poll(() => harness.requests.length).toBe(1)
    held.letGo()
    const [one, two] = await Promise.all(both)
    expect(two?.id).toBe(one?.id)
    expect(await texts()).toEqual(['yes', 'thinking'])
  })
})
