/* Evidence, clients: OpenAI's package works over Chat Completions: streams, tools, images, usage and errors. */
import type OpenAI from 'openai'
import { afterEach, describe, expect, test } from 'vitest'
import { PNG } from '../../../fixtures/png.ts'
import { completionOf, makeTool } from '../../../agent/harness.ts'
import { expectJson, heldTurn, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'
import { logOf, openAiClient, refusal, sessionsOf } from '../openai-client.ts'

type Messages = OpenAI.ChatCompletionMessageParam[]

let harness: HttpHarness
afterEach(() => harness.close())

type Options = Parameters<typeof openHttpHarness>[0]
async function open(options: Options = {}): Promise<OpenAI> {
  harness = await openHttpHarness(options)
  return openAiClient(harness)
}

const hello: Messages = [{ role: 'user', content: 'Hello' }]
const weather = {
  type: 'function',
  function: { name: 'weather', description: 'The weather', parameters: { type: 'object', properties: {} } },
} as const
const log = (session: string) => logOf(harness, session)
const sessions = () => sessionsOf(harness)

describe('a completion', () => {
  test('is returned completely, with usage and the id of its session', async () => {
    const turn = { ...completionOf({ text: 'Hi.' }) }
    const usage = { ...turn.usage, inputTokens: 12, outputTokens: 3, cachedInputTokens: 4, reasoningTokens: 1 }
    const client = await open({
      script: [
        async function* () {
          yield { type: 'completion', completion: { ...turn, usage } }
        },
      ],
    })
    const { data, response } = await client.chat.completions
      .create({ model: 'default', messages: hello })
      .withResponse()
    expect(data).toMatchObject({
      object: 'chat.completion',
      model: 'default',
      choices: [{ message: { role: 'assistant', content: 'Hi.' }, finish_reason: 'stop' }],
      usage: {
        prompt_tokens: 12,
        completion_tokens: 3,
        total_tokens: 15,
        prompt_tokens_details: { cached_tokens: 4 },
        completion_tokens_details: { reasoning_tokens: 1 },
      },
    })
    const [session] = await sessions()
    expect(response.headers.get('x-session-id')).toBe(session?.['id'])
    expect(data.id).toBe(`chatcmpl-${response.headers.get('x-run-id')}`)
  })

  test('is streamed with its text and its end', async () => {
    const client = await open({ script: [{ text: 'One' }] })
    const stream = client.chat.completions.stream({
      model: 'default',
      messages: hello,
      stream_options: { include_usage: true },
    })
    const pieces: (string | null | undefined)[] = []
    const deltas: unknown[] = []
    stream.on('content', (piece) => pieces.push(piece))
    stream.on('chunk', ({ choices }) => deltas.push(choices[0]?.delta))
    const final = await stream.finalChatCompletion()
    expect(deltas[0]).toEqual({ role: 'assistant', content: '' })
    expect(pieces.join('')).toBe('One')
    expect(final.choices[0]).toMatchObject({ message: { role: 'assistant', content: 'One' }, finish_reason: 'stop' })
  })

  test('has the texts of all rounds, and no calls of our own tools', async () => {
    const client = await open({
      tools: [makeTool('look', async () => ({ text: 'seen' }))],
      script: [{ text: 'Let me look.', calls: [{ name: 'look' }] }, { text: 'It is here.' }],
    })
    const whole = await client.chat.completions.create({ model: 'default', messages: hello })
    expect(whole.choices).toMatchObject([
      { message: { content: 'Let me look.\n\nIt is here.' }, finish_reason: 'stop' },
    ])
    expect(JSON.stringify(whole)).not.toContain('seen')
    expect(whole.choices[0]?.message.tool_calls).toBeUndefined()
  })

  test('sends an image and a file to the model', async () => {
    const client = await open()
    const content = [
      { type: 'text', text: 'What is it?' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
      { type: 'file', file: { filename: 'a.txt', file_data: `data:text/plain;base64,${btoa('a text')}` } },
    ] as const
    await client.chat.completions.create({ model: 'default', messages: [{ role: 'user', content: [...content] }] })
    expect(harness.requests[0]?.messages[0]?.parts).toMatchObject([
      { type: 'text', text: 'What is it?' },
      { type: 'image', mediaType: 'image/png' },
      { type: 'file', mediaType: 'text/plain', filename: 'a.txt' },
    ])
  })

  test("uses the client's system message as its instructions", async () => {
    const client = await open()
    const messages: Messages = [{ role: 'system', content: 'Be a pirate.' }, ...hello]
    await client.chat.completions.create({ model: 'default', messages: messages })
    expect(harness.requests[0]?.instructions).toBe('Be a pirate.')
  })
})

describe("the client's tools", () => {
  const script: Options = {
    script: [
      { text: 'Let me see.', calls: [{ id: 'c1', name: 'weather', arguments: '{"city":"Bonn"}' }] },
      { text: 'It rains.' },
    ],
  }

  test('are called, and the run continues with their results', async () => {
    const client = await open(script)
    const headers = { 'x-session-id': 'talk' }
    const asked = await client.chat.completions.create(
      { model: 'default', messages: hello, tools: [weather] },
      { headers },
    )
    const { message, finish_reason: reason } = asked.choices[0] ?? {}
    expect([message?.content, reason]).toEqual(['Let me see.', 'tool_calls'])
    expect(message?.tool_calls).toEqual([
      { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Bonn"}' } },
    ])
    if (message === undefined) throw new Error('no message')
    const messages: Messages = [...hello, message, { role: 'tool', tool_call_id: 'c1', content: 'rain' }]
    const body = { model: 'default', messages: messages, tools: [weather] }
    const answered = await client.chat.completions.create(body, { headers })
    expect(answered.choices).toMatchObject([{ message: { content: 'It rains.' }, finish_reason: 'stop' }])
    expect(answered.id).toBe(`${asked.id}.1`)
    const retried = { headers: { ...headers, 'x-stainless-retry-count': '1' } }
    expect((await client.chat.completions.create(body, retried)).id).toBe(answered.id)
    expect((await log('talk')).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  })

  test('are called in a stream', async () => {
    const client = await open(script)
    const stream = client.chat.completions.stream({ model: 'default', messages: hello, tools: [weather] })
    const { message, finish_reason: reason } = (await stream.finalChatCompletion()).choices[0] ?? {}
    expect(reason).toBe('tool_calls')
    expect(message).toMatchObject({ content: 'Let me see.', tool_calls: [{ id: 'c1' }] })
  })

  test("work with the tool loop of OpenAI's package", async () => {
    const client = await open(script)
    const runner = client.chat.completions.runTools(
      {
        model: 'default',
        messages: hello,
        tools: [
          {
            type: 'function',
            function: {
              name: 'weather',
              description: '',
              parameters: { type: 'object', properties: {} },
              function: () => 'rain',
            },
          },
        ],
      },
      { headers: { 'x-session-id': 'loop' } },
    )
    expect(await runner.finalContent()).toBe('It rains.')
  })

  test('accept no results of unknown calls: the request is rejected, and nothing is stored', async () => {
    const client = await open()
    const call = { id: 'c9', type: 'function', function: { name: 'weather', arguments: '{}' } } as const
    const messages: Messages = [
      ...hello,
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c9', content: 'x' },
    ]
    const error = await refusal(client.chat.completions.create({ model: 'default', messages: messages }))
    expect(error).toMatchObject({ status: 409, code: 'unknown_tool_calls', param: 'messages[2].tool_call_id' })
    expect(await sessions()).toEqual([])
  })
})

describe('a session', () => {
  test('is named by the header or the metadata, and only new messages are stored', async () => {
    const client = await open({ script: [{ text: 'One.' }, { text: 'Two.' }] })
    const headers = { 'x-session-id': 'mine' }
    await client.chat.completions.create({ model: 'default', messages: hello }, { headers })
    const messages: Messages = [
      ...hello,
      { role: 'assistant', content: 'something else' },
      { role: 'user', content: 'And now?' },
    ]
    const body = { model: 'default', messages: messages, metadata: { session_id: 'mine', ticket: '7' } }
    await client.chat.completions.create(body)
    expect(await log('mine')).toMatchObject([
      { parts: [{ text: 'Hello' }] },
      { parts: [{ text: 'One.' }] },
      { parts: [{ text: 'And now?' }], metadata: { ticket: '7' } },
      { parts: [{ text: 'Two.' }] },
    ])
  })

  test('stores the earlier messages first if it is new', async () => {
    const client = await open({ script: [{ text: 'Two.' }] })
    const messages: Messages = [...hello, { role: 'assistant', content: 'One.' }, { role: 'user', content: 'And now?' }]
    const body = { model: 'default', messages: messages }
    await client.chat.completions.create(body, { headers: { 'x-session-id': 'mine' } })
    expect((await log('mine')).map(({ parts }) => (parts as { text: string }[])[0]?.text)).toEqual([
      'Hello',
      'One.',
      'And now?',
      'Two.',
    ])
    expect(harness.requests[0]?.messages).toHaveLength(3)
  })

  test("belongs to the key's owner, else to the request's user", async () => {
    const client = await open()
    await client.chat.completions.create({ model: 'default', messages: hello, user: 'ann' })
    expect(await sessions()).toMatchObject([{ owner: 'ann' }])
    const { authorization } = await harness.key({ owner: 'bob' })
    const bobs = openAiClient(harness, { apiKey: authorization.slice('Bearer '.length) })
    await bobs.chat.completions.create({ model: 'default', messages: hello, user: 'ann' })
    const listed = await expectJson(harness, 200, 'GET', '/v1/sessions', undefined, { authorization })
    expect(listed['data']).toMatchObject([{ owner: 'bob' }])
  })
})

describe('an interrupted chat request', () => {
  test('that is repeated joins its first run', async () => {
    const held = heldTurn()
    const client = await open({ script: [held.turn] })
    const body = { model: 'default', messages: hello, stream: true as const }
    const first = await client.chat.completions.create(body)
    for await (const _ of first) break
    const again = client.chat.completions.create(body, { headers: { 'x-stainless-retry-count': '1' } })
    const stream = await again
    held.letGo()
    let text = ''
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    expect(text).toBe('thinking')
    expect(await sessions()).toHaveLength(1)
    expect(harness.requests).toHaveLength(1)
  })

  test('continues after its client left', async () => {
    const held = heldTurn()
    const client = await open({ script: [held.turn] })
    const stream = await client.chat.completions.create(
      { model: 'default', messages: hello, stream: true },
      { headers: { 'x-session-id': 'left' } },
    )
    for await (const _ of stream) break
    stream.controller.abort()
    held.letGo()
    await expect.poll(async () => (await sessions())[0]?.['run']).toMatchObject({ status: 'completed' })
    expect(await log('left')).toMatchObject([{ role: 'user' }, { parts: [{ text: 'thinking' }] }])
  })

  test('that is cancelled over the API ends its stream with an error', async () => {
    const held = heldTurn()
    const client = await open({ script: [held.turn] })
    const { data, response } = await client.chat.completions
      .create({ model: 'default', messages: hello, stream: true })
      .withResponse()
    const [session, run] = ['x-session-id', 'x-run-id'].map((name) => response.headers.get(name))
    const reading = (async () => {
      for await (const _ of data) await harness.send('POST', `/v1/sessions/${session}/runs/${run}/cancel`)
    })()
    await expect(reading).rejects.toMatchObject({ code: 'run_cancelled' })
  })

  test('that is repeated under its idempotency key returns the same run, also later', async () => {
    const client = await open({ script: [{ text: 'One.' }] })
    const body = { model: 'default', messages: hello }
    const headers = { 'idempotency-key': 'order-1' }
    const first = await client.chat.completions.create(body, { headers })
    const second = await client.chat.completions.create(body, { headers })
    expect(second.id).toBe(first.id)
    expect(harness.requests).toHaveLength(1)
    const other = { ...body, messages: [{ role: 'user' as const, content: 'Other' }] }
    expect(await refusal(client.chat.completions.create(other, { headers }))).toMatchObject({
      status: 409,
      code: 'idempotency_conflict',
    })
  })
})
