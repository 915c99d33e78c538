/* Evidence, clients: Responses accept references to items of the conversation, and reject all others. */
import type OpenAI from 'openai'
import { afterEach, describe, expect, test } from 'vitest'
import { PNG } from '../../../fixtures/png.ts'
import { makeTool } from '../../../agent/harness.ts'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'
import { logOf, openAiClient, refusal, sessionsOf, SHOW_CALLS } from '../openai-client.ts'

let harness: HttpHarness
afterEach(() => harness.close())

type Options = NonNullable<Parameters<typeof openHttpHarness>[0]>
type Input = OpenAI.Responses.ResponseInput
async function open(options: Options = {}): Promise<OpenAI> {
  harness = await openHttpHarness(options)
  return openAiClient(harness)
}

const weather = {
  type: 'function',
  name: 'weather',
  parameters: { type: 'object', properties: {} },
  strict: false,
} as const
const hello = { model: 'default', input: 'Hello' } as const
const user = (content: string) => ({ role: 'user', content }) as const
const refer = (id: string | null | undefined) => ({ type: 'item_reference', id: id ?? '' }) as const
const textsOf = (log: Record<string, unknown>[]): unknown[] =>
  log.map(({ parts }) => (parts as { text?: string }[]).map(({ text }) => text).join(''))

test('a client that names no session refers to the items of its history', async () => {
  const client = await open({ script: [{ text: 'Hi.' }, { text: 'Again.' }] })
  const first = await client.responses.create(hello)
  const input: Input = [user('Hello'), refer(first.output[0]?.id), user('And now?')]
  const second = await client.responses.create({ ...hello, input })
  expect(second.conversation?.id).toBe(first.conversation?.id)
  expect(textsOf(await logOf(harness, first.conversation?.id ?? ''))).toEqual(['Hello', 'Hi.', 'And now?', 'Again.'])
})

test('a reference may omit its type', async () => {
  const client = await open({ script: [{ text: 'Hi.' }, { text: 'Again.' }] })
  const first = await client.responses.create(hello)
  for (const reference of [{ id: first.output[0]?.id ?? '' }, { id: first.output[0]?.id ?? '', type: null }]) {
    const input: Input = [user('Hello'), reference, user('And now?')]
    expect((await client.responses.create({ ...hello, input })).status).toBe('completed')
  }
})

test("the client's calls and our own calls can be referenced", async () => {
  const client = await open({
    tools: [makeTool('look', async () => ({ text: 'seen' }))],
    script: [
      { text: 'I look.', calls: [{ id: 'o1', name: 'look' }] },
      { calls: [{ id: 'c1', name: 'weather', arguments: '{"city":"Bonn"}' }] },
      { text: 'It rains.' },
      { text: 'Yes.' },
    ],
  })
  const body = { ...hello, tools: [weather] }
  const asked = await client.responses.create(body, SHOW_CALLS)
  expect(asked.output.map(({ type }) => type)).toEqual([
    'message',
    'function_call',
    'function_call_output',
    'function_call',
  ])
  const references = asked.output.map(({ id }) => refer(id))
  const output = { type: 'function_call_output', call_id: 'c1~1', output: 'rain' } as const
  const answered = await client.responses.create({ ...body, input: [user('Hello'), ...references, output] }, SHOW_CALLS)
  expect([answered.id, answered.output_text]).toEqual([`${asked.id}.1`, 'It rains.'])
  const last: Input = [user('Hello'), ...references, output, refer(answered.output[0]?.id), user('Sure?')]
  expect((await client.responses.create({ ...body, input: last }, SHOW_CALLS)).output_text).toBe('Yes.')
  expect(await sessionsOf(harness)).toHaveLength(1)
})

describe('in a named conversation', () => {
  test('a reference adds nothing, because the log has the item', async () => {
    const client = await open({ script: [{ text: 'Hi.' }, { text: 'Again.' }, { text: 'Sure.' }] })
    const first = await client.responses.create(hello)
    const conversation = first.conversation?.id ?? ''
    const [said] = (await client.conversations.items.list(conversation, { order: 'asc' })).data
    const input: Input = [user('Hello'), refer(first.output[0]?.id), refer(said?.id), user('And now?')]
    await client.responses.create({ ...hello, input, conversation })
    const after = await client.responses.create({ ...hello, input: [refer(said?.id), user('Sure?')], conversation })
    expect(after.output_text).toBe('Sure.')
    expect(textsOf(await logOf(harness, conversation))).toEqual([
      'Hello',
      'Hi.',
      'And now?',
      'Again.',
      'Sure?',
      'Sure.',
    ])
  })

  test('a request with only references is rejected', async () => {
    const client = await open()
    const first = await client.responses.create(hello)
    const body = { ...hello, input: [refer(first.output[0]?.id)], previous_response_id: first.id }
    expect(await refusal(client.responses.create(body))).toMatchObject({ status: 400, param: 'input' })
  })

  test('an item of another conversation is unknown', async () => {
    const client = await open()
    const [first, second] = [await client.responses.create(hello), await client.responses.create(hello)]
    const input: Input = [refer(first.output[0]?.id), user('x')]
    for (const naming of [{ conversation: second.conversation?.id ?? '' }, { previous_response_id: second.id }])
      expect(await refusal(client.responses.create({ ...hello, input, ...naming }))).toMatchObject({
        status: 404,
        code: 'item_not_found',
        param: 'input[0]',
      })
  })
})

test('an item of another owner, or of a Response that was not stored, is unknown', async () => {
  const client = await open()
  const first = await client.responses.create(hello)
  const unstored = await client.responses.create({ ...hello, store: false })
  const { authorization } = await harness.key({ owner: 'ann' })
  const anns = openAiClient(harness, { apiKey: authorization.slice('Bearer '.length) })
  const foreign: Input = [user('x'), refer(first.output[0]?.id), user('y')]
  expect(await refusal(anns.responses.create({ ...hello, input: foreign }))).toMatchObject({
    status: 404,
    param: 'input[1]',
  })
  const { authorization: full } = await harness.key({})
  const bobs = openAiClient(harness, { apiKey: full.slice('Bearer '.length) })
  const input: Input = [refer(unstored.output[0]?.id), user('y')]
  expect(await refusal(bobs.responses.create({ ...hello, input }))).toMatchObject({ status: 404, param: 'input[0]' })
  const all = await expectJson(harness, 200, 'GET', '/v1/sessions', undefined, { authorization: full })
  expect(all['data']).toHaveLength(2)
})

test('a message with an image cannot be brought into another conversation by reference', async () => {
  const client = await open({ script: [{ text: 'Hi.' }, { text: 'Again.' }] })
  const content = [{ type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'auto' }] as const
  const first = await client.responses.create({ ...hello, input: [{ role: 'user', content: [...content] }] })
  const conversation = first.conversation?.id ?? ''
  const [said] = (await client.conversations.items.list(conversation, { order: 'asc' })).data
  const input: Input = [refer(said?.id), refer(first.output[0]?.id), user('x')]
  expect(await refusal(client.responses.create({ ...hello, input }))).toMatchObject({ status: 400, param: 'input[0]' })
  expect((await client.responses.create({ ...hello, input, conversation })).output_text).toBe('Again.')
})

describe('an unknown reference is rejected with the name of its field, and nothing is stored', () => {
  test.each<[string, string]>([
    ['an unknown run', 'msg_01JD2Q8N4T6W8Y0A2C4E6G8J0K_0_0'],
    ['an unknown message', 'msg_01JD2Q8N4T6W8Y0A2C4E6G8J0K'],
    ['an id of another form', '../x'],
  ])('%s', async (_, id) => {
    const client = await open()
    const error = await refusal(client.responses.create({ ...hello, input: [user('x'), refer(id)] }))
    expect(error).toMatchObject({ status: 404, code: 'item_not_found', param: 'input[1]' })
    expect(await sessionsOf(harness)).toEqual([])
  })

  test('too many references', async () => {
    const client = await open()
    const input = [...Array.from({ length: 501 }, () => refer('msg_x')), user('x')]
    expect(await refusal(client.responses.create({ ...hello, input }))).toMatchObject({
      status: 400,
      param: 'input[500]',
    })
  })

  test('no id', async () => {
    const client = await open()
    const input = [user('x'), { type: 'item_reference' }] as unknown as Input
    expect(await refusal(client.responses.create({ ...hello, input }))).toMatchObject({
      status: 400,
      param: 'input[1].id',
    })
  })
})
