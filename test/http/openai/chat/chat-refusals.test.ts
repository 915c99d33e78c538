import OpenAI from 'openai'
import { afterEach, describe, expect, test } from 'vitest'
import { ModelError } from '../../../../functions/ports/model.ts'
import type { Turn } from '../../../agent/harness.ts'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'
import { openAiClient, refusal } from '../openai-client.ts'

type Messages = OpenAI.ChatCompletionMessageParam[]

let harness: HttpHarness
afterEach(() => harness.close())

type Options = Parameters<typeof openHttpHarness>[0]
async function open(options: Options = {}): Promise<OpenAI> {
  harness = await openHttpHarness(options)
  return openAiClient(harness)
}

const hello: Messages = [{ role: 'user', content: 'Hello' }]
const sessions = async (): Promise<Record<string, unknown>[]> =>
  (await expectJson<{ data: Record<string, unknown>[] }>(harness, 200, 'GET', '/v1/sessions')).data

describe('an error', () => {
  test.each([true, false])(
    "of the model before the first byte has a status that OpenAI's package does not retry: stream %j",
    async (stream) => {
      const client = await open({ script: [failing()] })
      const error = await refusal(client.chat.completions.create({ model: 'default', messages: hello, stream }))
      expect(error).toMatchObject({ status: 502, type: 'server_error', code: 'provider_error' })
      expect(harness.requests).toHaveLength(1)
    },
  )

  test('after the first byte ends the stream with an error frame', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const client = await open({ script: [failing(promise)] })
    const stream = await client.chat.completions.create({ model: 'default', messages: hello, stream: true })
    let text = ''
    const reading = (async () => {
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? ''
        resolve()
      }
    })()
    await expect(reading).rejects.toBeInstanceOf(OpenAI.APIError)
    expect(text).toBe('Let')
  })

  test("for keys and scopes has the format that OpenAI's package expects", async () => {
    const client = await open()
    const { authorization } = await harness.key({ scopes: ['read'] })
    expect(await refusal(client.models.list())).toMatchObject({ status: 401, type: 'authentication_error' })
    const reader = openAiClient(harness, { apiKey: authorization.slice('Bearer '.length) })
    expect((await reader.models.list()).data.map(({ id }) => id)).toEqual(['default', 'other'])
    expect(await reader.models.retrieve('other')).toMatchObject({ id: 'other', object: 'model' })
    const narrow = await harness.key({ agents: ['default'] })
    const bound = openAiClient(harness, { apiKey: narrow.authorization.slice('Bearer '.length) })
    for (const model of ['other', 'gpt-5'])
      expect(await refusal(bound.models.retrieve(model))).toMatchObject({ status: 404, code: 'model_not_found' })
    expect(await refusal(reader.chat.completions.create({ model: 'default', messages: hello }))).toMatchObject({
      status: 403,
      code: 'scope_missing',
    })
  })

  test.each([
    ['/openai/v1/nothing', 'GET', 404],
    ['/openai/v1/chat/completions', 'GET', 405],
    ['/openai/v1/chat/completions', 'POST', 413],
  ])('at %s %s is %i', async (path, method, status) => {
    await open()
    const body = method === 'POST' ? JSON.stringify({ model: 'x'.repeat(5_000_000) }) : undefined
    const response = await harness.send(method, path, body)
    expect(response.status).toBe(status)
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request_error', param: null } })
  })
})

/** A model that fails at once, or that sends a text and fails once `when` resolves. */
function failing(when?: Promise<void>): Turn {
  return async function* () {
    if (when !== undefined) yield { type: 'text.delta', part: 0, text: 'Let' }
    await when
    throw new ModelError('provider_error', 'the model is gone', { retryable: false })
  }
}

describe('an invalid request is rejected with the name of its field, and nothing is stored', () => {
  const user = (content: unknown) => ({ messages: [{ role: 'user', content }] })
  const tool = (name: string) => ({ type: 'function', function: { name } })
  const image = (url: string) => user([{ type: 'image_url', image_url: { url } }])
  test.each<[string, object, number, string]>([
    ['no model', { model: undefined }, 400, 'model'],
    ['an unknown model', { model: 'gpt-5' }, 404, 'model'],
    ['no messages', { messages: [] }, 400, 'messages'],
    ['only a system message', { messages: [{ role: 'system', content: 'x' }] }, 400, 'messages'],
    ['a role that nobody has', { messages: [{ role: 'robot', content: 'x' }] }, 400, 'messages[0].role'],
    ['a number as content', user(7), 400, 'messages[0].content'],
    ['a part of another type', user([{ type: 'input_audio' }]), 400, 'messages[0].content[0].type'],
    ['an image at an internal address', image('https://127.0.0.1/a.png'), 422, 'messages[0].content[0].image_url.url'],
    ['an image without a scheme', image('a.png'), 400, 'messages[0].content[0].image_url.url'],
    ['a text as image', image('data:text/plain;base64,YQ=='), 400, 'messages[0].content[0].image_url.url'],
    ['an image that is none', image('data:image/png;base64,YWJj'), 422, 'messages[0].content[0].image_url.url'],
    ['a result without a call', { messages: [{ role: 'tool', tool_call_id: 'a', content: 'x' }] }, 400, 'messages[0]'],
    ['two completions', { n: 2 }, 400, 'n'],
    ['five texts to stop at', { stop: ['a', 'b', 'c', 'd', 'e'] }, 400, 'stop'],
    ['an effort that is a number', { reasoning_effort: 7 }, 400, 'reasoning_effort'],
    ['a negative temperature', { temperature: -1 }, 400, 'temperature'],
    ['a share above one', { top_p: 1.5 }, 400, 'top_p'],
    ['a limit of half a token', { max_tokens: 0.5 }, 400, 'max_tokens'],
    ['a seed that is a text', { seed: 'x' }, 400, 'seed'],
    ['an old function', { functions: [{ name: 'x' }] }, 400, 'functions'],
    ['a forced call without tools', { tool_choice: 'required' }, 400, 'tool_choice'],
    [
      'a choice of no tool',
      { tool_choice: { type: 'function', function: { name: 'x' } } },
      400,
      'tool_choice.function.name',
    ],
    ['a choice of another type', { tool_choice: { type: 'allowed_tools' } }, 400, 'tool_choice'],
    ['XML as format', { response_format: { type: 'xml' } }, 400, 'response_format.type'],
    [
      'a circular schema',
      { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { $ref: '#' } } } },
      400,
      'response_format.json_schema.schema',
    ],
    ['a tool of another type', { tools: [{ type: 'custom', custom: { name: 'x' } }] }, 400, 'tools[0].type'],
    ['a tool without a name', { tools: [{ type: 'function', function: {} }] }, 400, 'tools[0].function.name'],
    [
      'a tool of ours',
      { tools: [{ type: 'function', function: { name: 'http_fetch' } }] },
      400,
      'tools[0].function.name',
    ],
    ['two tools of one name', { tools: [tool('x'), tool('x')] }, 400, 'tools[1].function.name'],
    ['a bad session id', { metadata: { session_id: '../x' } }, 400, 'metadata.session_id'],
    ['a stream of text', { stream: 'yes' }, 400, 'stream'],
    ['an empty user', { user: '' }, 400, 'user'],
    [
      'a history with a result of no call',
      {
        messages: [{ role: 'tool', tool_call_id: 'x', content: '' }, { role: 'assistant', content: 'x' }, ...hello],
      },
      400,
      'messages[0].tool_call_id',
    ],
  ])('%s', async (_, fields, status, param) => {
    const client = await open()
    const body = { model: 'default', messages: hello, ...fields } as OpenAI.ChatCompletionCreateParamsNonStreaming
    const error = await refusal(client.chat.completions.create(body))
    expect([error.status, error.param]).toEqual([status, param])
    expect(error.message).not.toMatch(/^$|Invalid input$/)
    expect(await sessions()).toEqual([])
  })
})

test('fields without effect are accepted', async () => {
  const client = await open()
  const nothing = { stop: [], functions: [], tools: [], n: 1, logprobs: false, response_format: null, audio: null }
  const body = {
    model: 'default',
    messages: hello,
    ...nothing,
  } as unknown as OpenAI.ChatCompletionCreateParamsNonStreaming
  expect((await client.chat.completions.create(body)).choices[0]?.finish_reason).toBe('stop')
})
