/* Evidence, clients: A Response lists its own input, is deleted for good, and its input tokens can be estimated. */
import type OpenAI from 'openai'
import { afterEach, describe, expect, test } from 'vitest'
import { PNG } from '../../../fixtures/png.ts'
import { makeTool } from '../../../agent/harness.ts'
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

const weather = {
  type: 'function',
  name: 'weather',
  parameters: { type: 'object', properties: {} },
  strict: false,
} as const
const hello = { model: 'default', input: 'Hello' } as const
const output = (id: string) => ({ type: 'function_call_output', call_id: id, output: `rain ${id}` }) as const
const said = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] })

describe('the input of a Response', () => {
  test('contains only the items of its own request', async () => {
    const client = await open({
      script: [
        {
          calls: [
            { id: 'a', name: 'weather' },
            { id: 'b', name: 'weather' },
          ],
        },
        { calls: [{ id: 'c', name: 'weather' }] },
        { text: 'Done.' },
        { text: 'Again.' },
      ],
    })
    const inputOf = async (id: string, query: OpenAI.Responses.InputItemListParams = {}) =>
      (await client.responses.inputItems.list(id, { order: 'asc', ...query })).data
    const asked = await client.responses.create({ ...hello, tools: [weather] })
    const body = { ...hello, previous_response_id: asked.id }
    const second = await client.responses.create({ ...body, input: [output('b'), output('a')] })
    expect(await inputOf(asked.id)).toMatchObject([said('Hello')])
    expect(await inputOf(second.id)).toMatchObject([output('a'), output('b')])
    const both = [output('c~1'), { role: 'user', content: 'And in Lima?' }] as const
    const third = await client.responses.create({ ...body, previous_response_id: second.id, input: [...both] })
    expect(await inputOf(third.id)).toMatchObject([output('c~1'), said('And in Lima?')])
    const fourth = await client.responses.create({ ...hello, input: 'More', previous_response_id: third.id })
    expect(await inputOf(fourth.id)).toMatchObject([said('More')])
    expect((await inputOf(second.id, { order: 'desc', limit: 1 }))[0]).toMatchObject(output('b'))
    const [first] = await inputOf(second.id)
    expect(await inputOf(second.id, { after: first?.id ?? '' })).toMatchObject([output('b')])
    const items = await client.conversations.items.list(asked.conversation?.id ?? '', { order: 'asc', limit: 100 })
    expect(items.data.map(({ id }) => id)).toEqual(
      expect.arrayContaining((await inputOf(third.id)).map(({ id }) => id)),
    )
  })

  test('omits the history that the client sends again, and is empty until the run starts', async () => {
    const held = heldTurn()
    const client = await open({ script: [{ text: 'Hi.' }, held.turn, { text: 'Last.' }] })
    const first = await client.responses.create(hello)
    const input = [
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hi.' },
      { role: 'user', content: 'Now' },
    ] as const
    const second = await client.responses.create({ ...hello, input: [...input], background: true })
    const third = await client.responses.create({
      ...{ ...hello, input: 'Then', background: true, conversation: first.conversation?.id ?? '' },
    })
    const texts = async ({ id }: OpenAI.Responses.Response) => (await client.responses.inputItems.list(id)).data
    expect(await texts(second)).toMatchObject([said('Now')])
    expect(await texts(third)).toEqual([])
    held.letGo()
    await expect.poll(async () => (await client.responses.retrieve(third.id)).status).toBe('completed')
    expect(await texts(third)).toMatchObject([said('Then')])
  })

  test('shows images as links', async () => {
    const client = await open()
    const content = [{ type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'auto' }] as const
    const made = await client.responses.create({ ...hello, input: [{ role: 'user', content: [...content] }] })
    const { data } = await client.responses.inputItems.list(made.id)
    const url = (data[0] as { content: { image_url: string }[] }).content[0]?.image_url ?? ''
    expect((await harness.send('GET', url)).headers.get('content-type')).toBe('image/png')
  })

  test('is not found by another owner, and a wrong cursor is rejected', async () => {
    const client = await open()
    const made = await client.responses.create(hello)
    expect(await refusal(client.responses.inputItems.list(made.id, { after: 'msg_x' }))).toMatchObject({
      status: 400,
      param: 'after',
    })
    const ann = await anns()
    for (const id of ['resp_x', made.id])
      expect(await refusal(ann.responses.inputItems.list(id))).toMatchObject({
        status: 404,
        code: 'response_not_found',
      })
  })
})

describe('the deletion of a Response', () => {
  test('hides the Response, but keeps its messages', async () => {
    const client = await open({ script: [{ text: 'Hi.' }, { text: 'Again.' }, { text: 'More.' }] })
    const once = { headers: { 'idempotency-key': 'one' } }
    const first = await client.responses.create(hello, once)
    const second = await client.responses.create({ ...hello, previous_response_id: first.id })
    const path = `/openai/v1/responses/${first.id}`
    const deleted = { id: first.id, object: 'response.deleted', deleted: true }
    expect(await expectJson(harness, 200, 'DELETE', path)).toEqual(deleted)
    for (const [method, more] of [
      ['GET', ''],
      ['GET', '/input_items'],
      ['POST', '/cancel'],
      ['DELETE', ''],
    ] as const)
      expect(await expectJson(harness, 404, method, `${path}${more}`)).toMatchObject({
        error: { code: 'response_not_found' },
      })
    const next = client.responses.create({ ...hello, previous_response_id: first.id })
    expect(await refusal(next)).toMatchObject({ status: 404, param: 'previous_response_id' })
    expect(await logOf(harness, first.conversation?.id ?? '')).toHaveLength(4)
    expect(await client.responses.retrieve(second.id)).toEqual(second)
    // A repeated request returns the deleted Response of its run, but the Response stays hidden.
    expect((await client.responses.create(hello, once)).id).toBe(first.id)
    await expectJson(harness, 404, 'GET', path)
  })

  test('is refused to callers that may not change the session of the Response', async () => {
    const client = await open({ agents: [{ name: 'default' }, { name: 'other' }] })
    const made = await client.responses.create(hello)
    const key = await harness.key({ agents: ['other'] })
    const others = openAiClient(harness, { apiKey: key.authorization.slice('Bearer '.length) })
    expect(await refusal(others.responses.delete(made.id))).toMatchObject({ status: 403 })
    expect(await refusal((await anns()).responses.delete(made.id))).toMatchObject({ status: 404 })
    const { authorization } = await harness.key({})
    await expectJson(harness, 200, 'GET', `/openai/v1/responses/${made.id}`, undefined, { authorization })
  })
})

describe('the input tokens', () => {
  test('are returned only to POST, although `input_tokens` could be the id of a Response', async () => {
    await open({ script: [] })
    for (const method of ['GET', 'DELETE', 'OPTIONS', 'PUT']) {
      const response = await harness.send(method, '/openai/v1/responses/input_tokens')
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
      expect(await response.json()).toMatchObject({ error: { code: 'method_not_allowed' } })
    }
  })

  test('of a request without a body are those of the default agent', async () => {
    const client = await open({ script: [] })
    const { input_tokens: counted } = await expectJson(harness, 200, 'POST', '/openai/v1/responses/input_tokens')
    expect(counted).toBe(await count(client, { model: 'default' }))
  })

  const count = async (client: OpenAI, body: OpenAI.Responses.InputTokenCountParams): Promise<number> => {
    const counted = await client.responses.inputTokens.count(body)
    expect(counted.object).toBe('response.input_tokens')
    return counted.input_tokens
  }

  test('count instructions, tools, the log and the input, and nothing is stored', async () => {
    const client = await open({ tools: [makeTool('look', async () => ({ text: 'seen' }))], script: [{ text: 'Hi.' }] })
    const least = await count(client, { model: 'default' })
    const plain = await count(client, { model: 'default', input: 'Hello, how are you?' })
    expect(least).toBeGreaterThan(10)
    expect(plain).toBeGreaterThan(least + 4)
    expect(
      await count(client, { model: 'default', input: 'Hello, how are you?', instructions: 'Be brief. '.repeat(50) }),
    ).toBeGreaterThan(plain + 100)
    expect(await count(client, { model: 'default', input: 'Hello, how are you?', tools: [weather] })).toBeGreaterThan(
      plain + 8,
    )
    const image = { type: 'input_image', image_url: 'https://images.example/a.png', detail: 'auto' } as const
    expect(await count(client, { model: 'default', input: [{ role: 'user', content: [image] }] })).toBeGreaterThan(
      least + 1_000,
    )
    expect(await sessionsOf(harness)).toEqual([])
    const made = await client.responses.create({ ...hello, input: 'A long question. '.repeat(100) })
    const before = await logOf(harness, made.conversation?.id ?? '')
    for (const naming of [{ previous_response_id: made.id }, { conversation: made.conversation?.id ?? '' }])
      expect(await count(client, { input: 'Hello', ...naming })).toBeGreaterThan(plain + 300)
    expect(await logOf(harness, made.conversation?.id ?? '')).toEqual(before)
    expect(harness.requests).toHaveLength(1)
  })

  test('count a history that the client sends itself', async () => {
    const client = await open()
    const long = 'A long answer with many words. '.repeat(50)
    const input = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: long },
      { role: 'user', content: 'Now' },
    ] as const
    expect(await count(client, { model: 'default', input: [...input] })).toBeGreaterThan(
      (await count(client, { model: 'default', input: 'Now' })) + 250,
    )
  })

  test.each<[string, object, number, string]>([
    ['an unknown model', { model: 'nobody' }, 404, 'model'],
    ['an unknown conversation', { conversation: 'nope' }, 404, 'conversation'],
    ['an unknown Response', { previous_response_id: 'resp_x' }, 404, 'previous_response_id'],
    ['two names', { previous_response_id: 'resp_x', conversation: 'nope' }, 400, 'previous_response_id'],
    ['an unknown item', { input: [{ type: 'item_reference', id: 'msg_x' }] }, 404, 'input[0]'],
    ['a wrong tool', { tools: [{ type: 'function', name: 'http_fetch' }] }, 400, 'tools[0].name'],
    ['an unknown item type', { input: [{ type: 'telepathy' }] }, 400, 'input[0].type'],
  ])('are not estimated for %s', async (_, body, status, param) => {
    const client = await open()
    expect(await refusal(client.responses.inputTokens.count(body as never))).toMatchObject({ status, param })
  })
})
