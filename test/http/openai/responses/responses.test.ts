/* Evidence, clients: OpenAI's package works over Responses: streams, resumption, tools, branches and repeated
 * requests. */
import type OpenAI from 'openai'
import { afterEach, describe, expect, test } from 'vitest'
import { ModelError } from '../../../../functions/ports/model.ts'
import { PNG } from '../../../fixtures/png.ts'
import { completionOf, makeTool } from '../../../agent/harness.ts'
import { openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'
import { logOf, openAiClient, refusal, sessionsOf, SHOW_CALLS } from '../openai-client.ts'

type ResponseInput = OpenAI.Responses.ResponseInput
type Events = OpenAI.Responses.ResponseStreamEvent[]

let harness: HttpHarness
afterEach(() => harness.close())

type Options = NonNullable<Parameters<typeof openHttpHarness>[0]>
async function open(options: Options = {}): Promise<OpenAI> {
  harness = await openHttpHarness(options)
  return openAiClient(harness)
}

const weather = {
  type: 'function',
  name: 'weather',
  description: 'The weather',
  parameters: { type: 'object', properties: {} },
  strict: false,
} as const
const hello = { model: 'default', input: 'Hello' } as const
const log = (session: string) => logOf(harness, session)
const sessions = () => sessionsOf(harness)
const output = (id: string, text = 'rain'): ResponseInput => [
  { type: 'function_call_output', call_id: id, output: text },
]
const conversationOf = ({ conversation }: OpenAI.Responses.Response): string => conversation?.id ?? ''

describe('a Response', () => {
  test('is returned completely, with usage, and can be read again', async () => {
    const turn = completionOf({ text: 'Hi.' })
    const usage = { ...turn.usage, inputTokens: 12, outputTokens: 3, cachedInputTokens: 4, reasoningTokens: 1 }
    const client = await open({
      script: [
        async function* () {
          yield { type: 'completion', completion: { ...turn, usage } }
        },
      ],
    })
    const made = await client.responses.create({ ...hello, metadata: { ticket: '7' }, tool_choice: 'none' })
    expect(made).toMatchObject({
      object: 'response',
      tool_choice: 'none',
      status: 'completed',
      model: 'default',
      output_text: 'Hi.',
      metadata: { ticket: '7' },
      usage: { input_tokens: 12, output_tokens: 3, total_tokens: 15, input_tokens_details: { cached_tokens: 4 } },
    })
    const [session] = await sessions()
    expect(conversationOf(made)).toBe(session?.['id'])
    expect(session).toMatchObject({ run: { id: made.id.slice('resp_'.length) } })
    expect(await client.responses.retrieve(made.id)).toEqual(made)
    expect(await log(conversationOf(made))).toMatchObject([{ metadata: { ticket: '7' } }, { role: 'assistant' }])
  })

  test('is streamed, and its stream can be read again from any of its events', async () => {
    const client = await open({
      tools: [makeTool('look', async () => ({ text: 'seen' }))],
      script: [
        { text: 'Let me look.', calls: [{ id: 'c1', name: 'look', arguments: '{"at":"it"}' }] },
        { text: 'Here.' },
      ],
    })
    const events: Events = []
    const stream = client.responses.stream(hello, SHOW_CALLS)
    for await (const event of stream) events.push(event)
    const final = await stream.finalResponse()
    expect(events.map(({ type }) => type).slice(0, 4)).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
    ])
    expect(final.output.map(({ type }) => type)).toEqual([
      'message',
      'function_call',
      'function_call_output',
      'message',
    ])
    expect(final.output).toMatchObject([
      { content: [{ text: 'Let me look.' }] },
      { call_id: 'c1', name: 'look', arguments: '{"at":"it"}', status: 'completed' },
      { call_id: 'c1', output: 'seen' },
      { content: [{ text: 'Here.' }] },
    ])
    const plain = await client.responses.retrieve(final.id)
    expect(plain.output_text).toBe('Let me look.Here.')
    const again = client.responses.stream({ response_id: final.id })
    expect(await again.finalResponse()).toEqual(final)
    const numbers = events.map((event) => ('sequence_number' in event ? event.sequence_number : -1))
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
    const text = (some: Events): string =>
      some.flatMap((event) => (event.type === 'response.output_text.delta' ? [event.delta] : [])).join('')
    for (const after of [0, 4, 9, 14, 20]) {
      const rest: Events = []
      for await (const event of await client.responses.retrieve(final.id, { stream: true, starting_after: after }))
        rest.push(event)
      expect(rest.every((event) => !('sequence_number' in event) || event.sequence_number > after)).toBe(true)
      expect(rest.at(-1)).toMatchObject({ type: 'response.completed', response: { output: plain.output } })
      expect('Let me look.Here.'.endsWith(text(rest))).toBe(true)
    }
  })

  test("shows the model's reasoning, and our own calls only on request", async () => {
    const client = await open({
      tools: [makeTool('look', async () => ({ text: 'seen' }))],
      script: [
        { calls: [{ name: 'look' }] },
        async function* () {
          yield { type: 'reasoning.delta', part: 0, text: 'Hmm.' }
          yield { type: 'text.delta', part: 1, text: 'Here.' }
          yield {
            type: 'completion',
            completion: {
              ...completionOf({ text: 'Here.' }),
              parts: [
                { type: 'reasoning', text: 'Hmm.' },
                { type: 'text', text: 'Here.' },
              ],
            },
          }
        },
        { calls: [{ name: 'look' }] },
        { text: 'Again.' },
        { calls: [{ name: 'look' }] },
        { text: 'Once more.' },
      ],
    })
    const first = await client.responses.stream(hello).finalResponse()
    expect(first.output).toMatchObject([
      { type: 'reasoning', content: [{ text: 'Hmm.' }] },
      { type: 'message', content: [{ text: 'Here.' }] },
    ])
    const second = await client.responses.create({ ...hello, model: 'default:calls' })
    expect(second).toMatchObject({ model: 'default:calls', output_text: 'Again.' })
    expect(second.output.map(({ type }) => type)).toEqual(['function_call', 'function_call_output', 'message'])
    expect(await client.responses.retrieve(second.id)).toMatchObject({ output: second.output })
    const third = await client.responses.create({ ...hello, model: 'default:text' }, SHOW_CALLS)
    expect(third.output.map(({ type }) => type)).toEqual(['message'])
  })

  test('sends an image and a file to the model', async () => {
    const client = await open()
    const content = [
      { type: 'input_text', text: 'What is it?' },
      { type: 'input_image', image_url: `data:image/png;base64,${PNG}`, detail: 'auto' },
      { type: 'input_file', filename: 'a.txt', file_data: `data:text/plain;base64,${btoa('a text')}` },
    ] as const
    await client.responses.create({ model: 'default', input: [{ role: 'user', content: [...content] }] })
    expect(harness.requests[0]?.messages[0]?.parts).toMatchObject([
      { type: 'text', text: 'What is it?' },
      { type: 'image', mediaType: 'image/png' },
      { type: 'file', mediaType: 'text/plain', filename: 'a.txt' },
    ])
  })

  test('has its own instructions, which do not apply to other runs', async () => {
    const client = await open()
    const first = await client.responses.create({ ...hello, instructions: 'Be a pirate.' })
    expect(first.instructions).toBe('Be a pirate.')
    await client.responses.create({ ...hello, previous_response_id: first.id })
    expect(harness.requests.map(({ instructions }) => instructions)).toEqual(['Be a pirate.', 'Be brief.'])
    expect((await sessions())[0]).not.toHaveProperty('instructions')
  })

  test('reports its failure', async () => {
    const failing: NonNullable<Options['script']>[number] = async function* () {
      yield { type: 'text.delta', part: 0, text: 'Let' }
      throw new ModelError('provider_error', 'the model is gone', { retryable: false })
    }
    const client = await open({ script: [failing, failing] })
    const made = await client.responses.create(hello)
    expect(made).toMatchObject({ status: 'failed', error: { code: 'server_error' } })
    const stream = client.responses.stream(hello)
    expect(await stream.finalResponse()).toMatchObject({ status: 'failed', output_text: 'Let' })
    expect(harness.requests).toHaveLength(2)
  })
})

describe("calls of the client's tools", () => {
  const script = (more: NonNullable<Options['script']> = []): Options => ({
    script: [
      { text: 'Let me see.', calls: [{ id: 'c1', name: 'weather', arguments: '{"city":"Bonn"}' }] },
      ...more,
      { text: 'It rains.' },
    ],
  })

  test('end a Response, and another Response continues the run with their outputs', async () => {
    const client = await open(script([{ calls: [{ id: 'c1', name: 'weather' }] }]))
    const asked = await client.responses.stream({ ...hello, tools: [weather] }).finalResponse()
    expect(asked).toMatchObject({ status: 'completed', tools: [{ name: 'weather' }] })
    expect(asked.output).toMatchObject([
      { type: 'message' },
      { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"city":"Bonn"}' },
    ])
    const second = await client.responses.create({ ...hello, previous_response_id: asked.id, input: output('c1') })
    expect(second.id).toBe(`${asked.id}.1`)
    expect(second.output).toMatchObject([{ type: 'function_call', call_id: 'c1~1' }])
    const third = client.responses.stream({ ...hello, previous_response_id: second.id, input: output('c1~1') })
    const last = await third.finalResponse()
    expect(last).toMatchObject({ id: `${asked.id}.2`, output_text: 'It rains.', previous_response_id: second.id })
    expect(last.output).toHaveLength(1)
    expect((await client.responses.retrieve(asked.id)).output.map(({ type }) => type)).toEqual([
      'message',
      'function_call',
    ])
    expect((await client.responses.retrieve(second.id)).output).toEqual(second.output)
    expect((await client.responses.retrieve(last.id)).output_text).toBe('It rains.')
    expect(await client.responses.stream({ response_id: second.id }).finalResponse()).toMatchObject({
      output: second.output,
    })
    expect(await sessions()).toHaveLength(1)
  })

  test('accept their outputs once, however often these outputs are sent', async () => {
    const client = await open(script())
    const asked = await client.responses.create({ ...hello, tools: [weather] })
    const body = { ...hello, previous_response_id: asked.id, input: output('c1') }
    const first = await client.responses.create(body)
    expect(await client.responses.create(body)).toEqual(first)
    const other = await refusal(client.responses.create({ ...body, input: output('c1', 'snow') }))
    expect(other).toMatchObject({ status: 409, code: 'resolution_conflict' })
    expect(await sessions()).toHaveLength(1)
  })

  test('must all be answered in one request', async () => {
    const client = await open({
      script: [
        {
          calls: [
            { id: 'c1', name: 'weather' },
            { id: 'c2', name: 'weather' },
          ],
        },
        { text: 'Both.' },
      ],
    })
    const asked = await client.responses.create({ ...hello, tools: [weather] })
    const body = { ...hello, previous_response_id: asked.id }
    const error = await refusal(client.responses.create({ ...body, input: output('c2') }))
    expect(error).toMatchObject({ status: 400, param: 'input' })
    expect(error.message).toContain('c1')
    const both = await client.responses.create({ ...body, input: [...output('c1'), ...output('c2', 'snow')] })
    expect(both.output_text).toBe('Both.')
  })

  test('are cancelled by a new input if they have no answer', async () => {
    const client = await open(script())
    const asked = await client.responses.create({ ...hello, tools: [weather] })
    const next = await client.responses.create({ ...hello, previous_response_id: asked.id, input: 'Never mind.' })
    expect(next.output_text).toBe('It rains.')
    expect((await client.responses.retrieve(asked.id)).output).toEqual(asked.output)
    const late = client.responses.create({ ...hello, previous_response_id: asked.id, input: output('c1') })
    expect(await refusal(late)).toMatchObject({ status: 400, param: 'input[0].call_id' })
    expect(await sessions()).toHaveLength(1)
    expect((await log(conversationOf(asked))).find(({ role }) => role === 'tool')).toMatchObject({
      status: 'cancelled',
    })
  })
})
