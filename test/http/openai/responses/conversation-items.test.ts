/* Evidence, clients: Conversations are changed and deleted, and items are appended to the growing log. */
import type OpenAI from 'openai'
import { afterEach, describe, expect, test } from 'vitest'
import { expectJson, heldTurn, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'
import { logOf, openAiClient, refusal, sessionsOf } from '../openai-client.ts'

let harness: HttpHarness
afterEach(() => harness.close())

type Options = NonNullable<Parameters<typeof openHttpHarness>[0]>
async function open(options: Options = {}): Promise<OpenAI> {
  harness = await openHttpHarness(options)
  return openAiClient(harness)
}
const anns = async (): Promise<OpenAI> => {
  const { authorization } = await harness.key({ owner: 'ann' })
  return openAiClient(harness, { apiKey: authorization.slice('Bearer '.length) })
}

const hello = { model: 'default', input: 'Hello' } as const
const user = (content: string) => ({ type: 'message', role: 'user', content }) as const
const call = (id: string) => ({ type: 'function_call', call_id: id, name: 'weather', arguments: '{}' }) as const
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: `rain ${id}` }) as const
const allItems = async (client: OpenAI, id: string) =>
  (await client.conversations.items.list(id, { order: 'asc', limit: 100 })).data

describe('a conversation', () => {
  test('has its metadata replaced', async () => {
    const client = await open()
    const made = await client.conversations.create({ metadata: { topic: 'rain', place: 'Bonn' } })
    expect(await client.conversations.update(made.id, { metadata: { topic: 'snow' } })).toEqual({
      ...made,
      metadata: { topic: 'snow' },
    })
    expect(await sessionsOf(harness)).toMatchObject([{ metadata: { topic: 'snow' } }])
    expect((await client.conversations.update(made.id, { metadata: null })).metadata).toEqual({})
    expect(await client.conversations.retrieve(made.id)).toMatchObject({ metadata: {} })
  })

  test('is deleted with everything in it', async () => {
    const client = await open()
    const made = await client.responses.create(hello)
    const id = made.conversation?.id ?? ''
    expect(await client.conversations.delete(id)).toEqual({ id, object: 'conversation.deleted', deleted: true })
    for (const one of [
      client.conversations.retrieve(id),
      client.conversations.delete(id),
      client.conversations.update(id, { metadata: {} }),
      client.conversations.items.list(id),
      client.conversations.items.create(id, { items: [user('x')] }),
    ])
      expect(await refusal(one)).toMatchObject({ status: 404, code: 'conversation_not_found', param: 'conversation' })
    expect(await refusal(client.responses.retrieve(made.id))).toMatchObject({ status: 404 })
    expect(await sessionsOf(harness)).toEqual([])
  })

  test.each<[string, object]>([
    ['no metadata', {}],
    ['a number', { metadata: { a: 7 } }],
    ['a list', { metadata: ['a'] }],
  ])('rejects an update with %s, and keeps its metadata', async (_, body) => {
    const client = await open()
    const made = await client.conversations.create({ metadata: { topic: 'rain' } })
    expect(await refusal(client.conversations.update(made.id, body as never))).toMatchObject({
      status: 400,
      param: 'metadata',
    })
    expect(await client.conversations.retrieve(made.id)).toEqual(made)
  })
})

describe('new items', () => {
  test('are appended, listed, read one by one, and sent to the model', async () => {
    const client = await open({ script: [{ text: 'One.' }, { text: 'Two.' }] })
    const first = await client.responses.create(hello)
    const id = first.conversation?.id ?? ''
    const items = [
      user('How is the weather?'),
      { type: 'reasoning', id: 'rs_1', summary: [] },
      {
        type: 'message',
        role: 'assistant',
        id: 'msg_theirs',
        status: 'completed',
        content: [{ type: 'output_text', text: 'I ask.', annotations: [] }],
      },
      call('a'),
      call('b'),
      output('a'),
      output('b'),
      { role: 'assistant', content: 'It rains.' },
    ] as OpenAI.Responses.ResponseInput
    const made = await client.conversations.items.create(id, { items })
    expect(made).toMatchObject({
      object: 'list',
      has_more: false,
      first_id: made.data[0]?.id,
      last_id: made.data.at(-1)?.id,
    })
    expect(made.data).toMatchObject([
      { role: 'user', content: [{ text: 'How is the weather?' }] },
      { role: 'assistant', content: [{ text: 'I ask.' }] },
      { type: 'function_call', call_id: 'a', name: 'weather' },
      output('a'),
      { type: 'function_call', call_id: 'b' },
      output('b'),
      { role: 'assistant', content: [{ text: 'It rains.' }] },
    ])
    expect((await allItems(client, id)).slice(2)).toEqual(made.data)
    for (const item of made.data)
      expect(await client.conversations.items.retrieve(item.id ?? '', { conversation_id: id })).toEqual(item)
    await client.responses.create({ ...hello, input: 'And now?', conversation: id })
    const sent = harness.requests[1]?.messages ?? []
    expect(sent.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'tool',
      'tool',
      'assistant',
      'user',
    ])
    expect(harness.requests).toHaveLength(2)
  })

  test('are appended in order by successive requests, which is how client sessions store items', async () => {
    const client = await open()
    const { id } = await client.conversations.create()
    await client.conversations.items.create(id, { items: [user('One')] })
    await client.conversations.items.create(id, { items: [{ role: 'assistant', content: 'Two' }] })
    await client.conversations.items.create(id, { items: [call('a'), output('a')] })
    const items = await allItems(client, id)
    expect(items.map(({ type }) => type)).toEqual(['message', 'message', 'function_call', 'function_call_output'])
    expect(items.map(({ id: one }) => one)).toEqual([...new Set(items.map(({ id: one }) => one))])
  })

  test('are stored once under an idempotency key', async () => {
    const client = await open()
    const { id } = await client.conversations.create()
    const append = (text: string) =>
      client.conversations.items.create(id, { items: [user(text)] }, { headers: { 'idempotency-key': 'k' } })
    const first = await append('One')
    await client.conversations.items.create(id, { items: [user('Two')] })
    expect(await append('One')).toEqual(first)
    expect(await allItems(client, id)).toHaveLength(2)
    expect(await refusal(append('Other'))).toMatchObject({ status: 409, code: 'idempotency_conflict' })
  })

  test('are rejected while a run is active', async () => {
    const held = heldTurn()
    const client = await open({ script: [held.turn] })
    const made = await client.responses.create({ ...hello, background: true })
    const id = made.conversation?.id ?? ''
    await expect.poll(() => harness.requests.length).toBe(1)
    expect(await refusal(client.conversations.items.create(id, { items: [user('x')] }))).toMatchObject({
      status: 409,
      code: 'session_busy',
    })
    held.letGo()
  })

  test.each<[string, object[], number, string]>([
    ['none', [], 400, 'items'],
    ['too many', Array.from({ length: 21 }, () => user('x')), 400, 'items'],
    ['an unknown type', [{ type: 'telepathy' }], 400, 'items[0].type'],
    ['a system message', [user('x'), { role: 'system', content: 'Be brief.' }], 422, 'items[1]'],
    ['a reference', [{ type: 'item_reference', id: 'msg_x' }], 422, 'items[0]'],
    ['a call without an output', [user('x'), call('a'), user('y')], 422, 'items[1]'],
    ['a call without an output at the end', [call('a')], 422, 'items[0]'],
    ['an output without a call', [user('x'), output('a')], 422, 'items[1]'],
  ])('are rejected with the name of their field, and nothing is stored: %s', async (_, items, status, param) => {
    const client = await open()
    const { id } = await client.conversations.create({ items: [user('Hello')] })
    const before = await logOf(harness, id)
    const error = await refusal(client.conversations.items.create(id, { items: items as never }))
    expect(error).toMatchObject({ status, param, code: status === 422 ? 'not_supported' : 'invalid_request' })
    expect(await logOf(harness, id)).toEqual(before)
  })
})

describe('an item', () => {
  test('cannot be deleted, because the log only grows', async () => {
    const client = await open()
    const made = await client.responses.create(hello)
    const id = made.conversation?.id ?? ''
    const item = made.output[0]?.id ?? ''
    const error = await refusal(client.conversations.items.delete(item, { conversation_id: id }))
    expect(error).toMatchObject({ status: 422, code: 'not_supported', param: 'item' })
    expect(error.message).toContain('only grows')
    expect(await allItems(client, id)).toHaveLength(2)
  })

  test('is not found under an unknown id, in another conversation, or by another owner', async () => {
    const client = await open()
    const [first, second] = [await client.responses.create(hello), await client.responses.create(hello)]
    const [one, other] = [first.conversation?.id ?? '', second.conversation?.id ?? '']
    const item = first.output[0]?.id ?? ''
    for (const [conversation, id] of [
      [other, item],
      [one, 'msg_01JD2Q8N4T6W8Y0A2C4E6G8J0K'],
      [one, `${item}9`],
      [one, 'x'],
    ] as const)
      for (const method of ['GET', 'DELETE'])
        expect(
          await expectJson(harness, 404, method, `/openai/v1/conversations/${conversation}/items/${id}`),
        ).toMatchObject({
          error: { code: 'item_not_found', param: 'item' },
        })
    const ann = await anns()
    for (const request of [
      ann.conversations.items.retrieve(item, { conversation_id: one }),
      ann.conversations.items.create(one, { items: [user('x')] }),
      ann.conversations.update(one, { metadata: {} }),
      ann.conversations.delete(one),
    ])
      expect(await refusal(request)).toMatchObject({ status: 404, code: 'conversation_not_found' })
  })
})
