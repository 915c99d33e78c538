/* Evidence, api: A request names the format of its answer, in each format of the API. */
import { afterEach, describe, expect, it, test } from 'vitest'
import { makeTool } from '../agent/harness.ts'
import { expectJson, openHttpHarness } from './harness.ts'
import type { HttpHarness } from './harness.ts'
import { openAiClient } from './openai/openai-client.ts'

let harness: HttpHarness
afterEach(() => harness.close())

type Options = NonNullable<Parameters<typeof openHttpHarness>[0]>
const open = async (options: Options): Promise<HttpHarness> => (harness = await openHttpHarness(options))

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const format = { type: 'json_schema', name: 'place', schema } as const
const GOOD = '{"city": "Oslo", "size": 1.0}'
const tool = { name: 'ask', description: 'Asks.', parameters: { type: 'object' } }
const call = { text: 'Let me ask.', calls: [{ id: 'a', name: 'ask', arguments: '{}' }] }

type Body = Record<string, unknown>
const path = '/v1/sessions/one/messages'
const post = (fields: object, status = 200): Promise<Body> =>
  expectJson<Body>(harness, status, 'POST', path, { content: 'Where?', ...fields })
async function openSession(options: Options): Promise<void> {
  await open(options)
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'one' })
}

describe('a message with a format', () => {
  it('gives a run that shows the value of its answer, with numbers as the model sent them', async () => {
    await openSession({ script: [{ text: GOOD }] })
    const response = await harness.send('POST', path, { content: 'Where?', response_format: format })
    const text = await response.text()
    expect(text).toContain('"output":{"city":"Oslo","size":1.0}')
    const [run] = (await expectJson<{ data: Body[] }>(harness, 200, 'GET', '/v1/sessions/one/runs')).data
    expect(run).toMatchObject({ status: 'completed', output: { city: 'Oslo', size: 1 } })
  })

  it('shows null for a run that pauses, fails, or completes with another answer', async () => {
    const failing = async function* () {
      yield* []
      throw new Error('broken')
    }
    await openSession({ script: [call, { text: GOOD }, failing, { text: 'no' }, { text: '[]' }] })
    const paused = await post({ response_format: format, tools: [tool] })
    expect(paused).toMatchObject({ status: 'paused', output: null })
    const results = { results: [{ tool_call_id: 'a', output: 'x' }] }
    const ended = await expectJson<Body>(
      harness,
      200,
      'POST',
      `/v1/sessions/one/runs/${String(paused['id'])}/tool-results`,
      results,
    )
    expect(ended).toMatchObject({ status: 'completed', output: { city: 'Oslo' } })
    expect(await post({ response_format: format })).toMatchObject({ status: 'failed', output: null })
    const unfit = await post({ response_format: { type: 'json_object' } })
    expect(unfit).toMatchObject({ status: 'completed', output: null })
    const events = await (await harness.send('GET', `/v1/sessions/one/runs/${String(unfit['id'])}/events`)).text()
    expect(events).toContain('"code":"output_not_of_schema"')
  })

  it('replaces the format of the agent, and a run without a format shows no output', async () => {
    await openSession({ script: [{ text: GOOD }, { text: 'hi' }], policies: { responseFormat: format } })
    expect(await post({})).toMatchObject({ output: { city: 'Oslo' } })
    expect(await post({ response_format: { type: 'text' } })).not.toHaveProperty('output')
  })
})

describe('a message is refused with the path of a field, and nothing is stored,', () => {
  const deep = (levels: number): object => (levels === 0 ? {} : { items: deep(levels - 1) })
  const wide = { anyOf: Array.from({ length: 2_001 }, () => ({})) }
  it.each([
    ['with a format of another type', { response_format: { type: 'xml' } }, 'body.response_format.type'],
    ['with a schema that is no object', { response_format: { ...format, schema: [] } }, 'body.response_format.schema'],
    ['with a bad name of a format', { response_format: { ...format, name: 'a b' } }, 'body.response_format.name'],
    ['with too large a schema', { response_format: { ...format, schema: wide } }, 'body.response_format.schema'],
    [
      'with a circular schema',
      { response_format: { ...format, schema: { $ref: '#' } } },
      'body.response_format.schema',
    ],
    [
      'with too deep a schema',
      { response_format: { ...format, schema: deep(40) } },
      expect.stringMatching(/^body\.response_format\.schema\.items/),
    ],
    ['with a choice that names no tool', { tool_choice: { name: 'nothing' } }, 'body.tool_choice.name'],
    ['with a required call without tools', { tool_choice: 'required' }, 'body.tool_choice'],
    ['with five texts to stop at', { stop: ['a', 'b', 'c', 'd', 'e'] }, 'body.stop'],
    ['with an empty text to stop at', { stop: [''] }, 'body.stop[0]'],
    ['with too high a temperature', { temperature: 3 }, 'body.temperature'],
    ['with a share above one', { top_p: 2 }, 'body.top_p'],
    ['with no output tokens', { max_output_tokens: 0 }, 'body.max_output_tokens'],
    ['with a seed that is a text', { seed: 'x' }, 'body.seed'],
    ['with an unknown effort', { reasoning_effort: 'huge' }, 'body.reasoning_effort'],
  ])('%s', async (_name, fields, at) => {
    await openSession({ script: [] })
    const problem = await post(fields, 400)
    expect(problem['errors']).toEqual([expect.objectContaining({ path: at })])
    expect((await expectJson<{ data: unknown[] }>(harness, 200, 'GET', path)).data).toEqual([])
  })
})

describe('a Chat Completions request with a format', () => {
  const response_format = { type: 'json_schema', json_schema: { name: 'place', schema, strict: true } } as const
  const hello = { model: 'default', messages: [{ role: 'user' as const, content: 'Where?' }] }

  it('gets only the answer that fits, whole or streamed', async () => {
    const echo = makeTool('echo', async () => ({ text: 'x' }))
    const round = { text: 'Let me look.', calls: [{ name: 'echo' }] }
    const script = [round, { text: 'no' }, { text: GOOD }]
    await open({ script: [...script, ...script], tools: [echo] })
    const client = openAiClient(harness)
    const whole = await client.chat.completions.create({ ...hello, response_format })
    expect(whole.choices[0]?.message.content).toBe(GOOD)
    const stream = await client.chat.completions.create({ ...hello, response_format, stream: true })
    let text = ''
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    expect(text).toBe(GOOD)
    expect(harness.requests[0]?.responseFormat).toEqual({ ...format, strict: true })
  })

  it('applies only to its own rounds: a later request without a format gets a text', async () => {
    await open({ script: [call, { text: 'plain' }] })
    const client = openAiClient(harness)
    const tools = [{ type: 'function', function: { name: 'ask', parameters: { type: 'object' } } }] as const
    const tool_choice = { type: 'function', function: { name: 'ask' } } as const
    const first = await client.chat.completions.create({ ...hello, tools: [...tools], tool_choice, response_format })
    const asked = first.choices[0]?.message
    expect([asked?.content, asked?.tool_calls?.length]).toEqual([null, 1])
    const result = { role: 'tool', tool_call_id: 'a', content: 'x' } as const
    const messages = [...hello.messages, ...(asked === undefined ? [] : [asked]), result]
    const second = await client.chat.completions.create({ model: 'default', messages, stop: 'END' })
    expect(second.choices[0]?.message.content).toBe('plain')
    const sent = harness.requests.map(({ toolChoice, responseFormat, options }) => [
      toolChoice,
      responseFormat?.type,
      options.stop,
    ])
    expect(sent).toEqual([
      [{ name: 'ask' }, 'json_schema', undefined],
      ['auto', undefined, ['END']],
    ])
  })

  it('passes its options to the model if the agent accepts options', async () => {
    await open({ script: [{ text: 'hi' }], policies: { requestOptions: 'accept' } })
    const options = { temperature: 0.5, top_p: 0.1, max_tokens: 7, seed: 3, reasoning_effort: 'low' } as const
    await openAiClient(harness).chat.completions.create({ ...hello, ...options })
    expect(harness.requests[0]?.options).toMatchObject({
      ...{ temperature: 0.5, topP: 0.1, maxOutputTokens: 7, seed: 3, reasoningEffort: 'low' },
    })
  })
})

describe('a Response with a format', () => {
  const text = { format: { type: 'json_schema', name: 'place', schema, strict: true } } as const
  const hello = { model: 'default', input: 'Where?' } as const

  it('shows the format as the request gave it, and only the answer that fits', async () => {
    await open({ script: [{ text: 'no' }, { text: GOOD }] })
    const made = await openAiClient(harness).responses.create({ ...hello, text })
    expect([made.text, made.output_text, made.output.length]).toEqual([text, GOOD, 1])
  })

  it('streams only the answer that fits', async () => {
    await open({ script: [{ text: 'no' }, { text: GOOD }] })
    const stream = openAiClient(harness).responses.stream({ ...hello, text })
    let streamed = ''
    for await (const event of stream) if (event.type === 'response.output_text.delta') streamed += event.delta
    expect([streamed, (await stream.finalResponse()).output_text]).toEqual([GOOD, GOOD])
  })

  it('can force a call of one function, and shows that choice', async () => {
    await open({ script: [call] })
    const tools = [{ type: 'function', name: 'ask', parameters: { type: 'object' }, strict: false }] as const
    const tool_choice = { type: 'function', name: 'ask' } as const
    const made = await openAiClient(harness).responses.create({ ...hello, text, tools: [...tools], tool_choice })
    expect([made.tool_choice, made.output.map(({ type }) => type)]).toEqual([tool_choice, ['function_call']])
    expect(harness.requests[0]?.toolChoice).toEqual({ name: 'ask' })
  })
})

test('a request with the tool choice "none" declares its tools and forbids calls of them', async () => {
  await open({ script: [call, { text: 'plain' }] })
  const tools = [{ type: 'function', function: { name: 'ask', parameters: { type: 'object' } } }] as const
  const messages = [{ role: 'user' as const, content: 'Where?' }]
  const body = { model: 'default', messages, tools: [...tools], tool_choice: 'none' as const }
  const made = await openAiClient(harness).chat.completions.create(body)
  expect(made.choices[0]?.message.tool_calls).toBeUndefined()
  expect(made.choices[0]?.message.content).toContain('plain')
  expect(harness.requests.map(({ toolChoice }) => toolChoice)).toEqual(['none', 'auto'])
})
