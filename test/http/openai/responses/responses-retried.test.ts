import type OpenAI from 'openai'
import { afterEach, describe, expect, test } from 'vitest'
import { ModelError } from '../../../../functions/ports/model.ts'
import { makeTool } from '../../../agent/harness.ts'
import { heldTurn, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'
import { logOf, openAiClient, refusal, sessionsOf, SHOW_CALLS } from '../openai-client.ts'

type Events = OpenAI.Responses.ResponseStreamEvent[]
type ResponseInput = OpenAI.Responses.ResponseInput

let harness: HttpHarness
afterEach(() => harness.close())

type Options = NonNullable<Parameters<typeof openHttpHarness>[0]>
async function open(options: Options): Promise<OpenAI> {
  harness = await openHttpHarness(options)
  return openAiClient(harness)
}

const hello = { model: 'default', input: 'Hello' } as const
const broken = (...deltas: string[]): NonNullable<Options['script']>[number] =>
  async function* () {
    for (const text of deltas) yield { type: 'text.delta', part: 0, text }
    throw new ModelError('network', 'broken', { retryable: true })
  }
const conversationOf = ({ conversation }: OpenAI.Responses.Response): string => conversation?.id ?? ''
const runOf = ({ id }: OpenAI.Responses.Response): string => id.slice('resp_'.length)
/** Whether the session's next Response after this one can be read. */
async function isBegun(before: OpenAI.Responses.Response): Promise<boolean> {
  const run = (await sessionsOf(harness))[0]?.['run'] as { readonly id: string }
  if (run.id === runOf(before)) return false
  return (await harness.send('GET', `/openai/v1/responses/resp_${run.id}`)).status === 200
}
const textsOf = async (session: string): Promise<unknown[]> =>
  (await logOf(harness, session)).map(({ role, parts }) => [role, (parts as { text?: string }[])[0]?.text])

describe('a Response with a retried round', () => {
  const script = (): Options => ({
    tools: [makeTool('look', async () => ({ text: 'seen' }))],
    script: [
      { text: 'Let me look.', calls: [{ id: 'c1', name: 'look' }] },
      broken('Half ', 'a '),
      broken('Another '),
      { text: 'Whole.' },
    ],
  })
  const shapeOf = ({ output }: OpenAI.Responses.Response): unknown[] =>
    output.map((item) => [item.id, item.type, item.type === 'message' ? item.content : ''])

  test('ends with the stored items, and shows discarded items as incomplete', async () => {
    const client = await open(script())
    const stream = client.responses.stream(hello, SHOW_CALLS)
    const events: Events = []
    for await (const event of stream) events.push(event)
    const final = await stream.finalResponse()
    expect(final.output.map(({ type }) => type)).toEqual([
      'message',
      'function_call',
      'function_call_output',
      'message',
    ])
    expect(final.output.at(-1)).toMatchObject({ content: [{ text: 'Whole.' }], status: 'completed' })
    const plain = await client.responses.retrieve(final.id)
    expect([plain.status, plain.output_text]).toEqual(['completed', 'Let me look.Whole.'])
    expect(await textsOf(conversationOf(final))).toEqual([
      ['user', 'Hello'],
      ['assistant', 'Let me look.'],
      ['tool', 'seen'],
      ['assistant', 'Whole.'],
    ])
    const ended = events.flatMap((event) =>
      event.type === 'response.output_item.done' && event.item.type === 'message' ? [event.item] : [],
    )
    expect(ended.map(({ status, content }) => [status, content[0]?.type === 'output_text' && content[0].text])).toEqual(
      [
        ['completed', 'Let me look.'],
        ['incomplete', 'Half a '],
        ['incomplete', 'Another '],
        ['completed', 'Whole.'],
      ],
    )
    expect(new Set(ended.map(({ id }) => id)).size).toBe(4)
  })

  test('equals its stored form if a client resumes after a disconnect in the first attempt', async () => {
    const client = await open(script())
    const seen: Events = []
    for await (const event of await client.responses.create({ ...hello, stream: true })) {
      seen.push(event)
      if (event.type === 'response.output_text.delta' && event.delta === 'Half ') break
    }
    const [created] = seen
    const id = created?.type === 'response.created' ? created.response.id : ''
    const last = seen.at(-1)
    const after = last !== undefined && 'sequence_number' in last ? last.sequence_number : 0
    await expect.poll(async () => (await client.responses.retrieve(id)).status).toBe('completed')
    const rest: Events = []
    for await (const event of await client.responses.retrieve(id, { stream: true, starting_after: after }))
      rest.push(event)
    const final = rest.at(-1)
    if (final?.type !== 'response.completed') throw new Error(`it ends with ${final?.type}`)
    expect(shapeOf(final.response)).toEqual(shapeOf(await client.responses.retrieve(id)))
    expect(final.response.output.at(-1)).toMatchObject({ content: [{ text: 'Whole.' }] })
  })
})

describe("outputs of calls and a user's text in one request", () => {
  const tools = [{ type: 'function', name: 'weather', parameters: { type: 'object' }, strict: false }] as const
  const calls = [
    { id: 'c1', name: 'weather' },
    { id: 'c2', name: 'weather' },
  ]
  const output = (id: string): ResponseInput => [{ type: 'function_call_output', call_id: id, output: `rain ${id}` }]
  const said: ResponseInput = [{ role: 'user', content: 'And tomorrow?' }]

  test('are added to the waiting run, which answers both in one Response', async () => {
    const held = heldTurn()
    const client = await open({ script: [{ calls }, held.turn, { text: 'Tomorrow too.' }] })
    const asked = await client.responses.create({ ...hello, tools: [...tools] })
    const body = { ...hello, previous_response_id: asked.id, input: [...output('c1'), ...output('c2'), ...said] }
    const answering = client.responses.create(body)
    await expect.poll(() => harness.requests.length).toBe(2)
    await expect.poll(() => isBegun(asked)).toBe(true)
    const again = client.responses.create(body, { headers: { 'x-stainless-retry-count': '1' } })
    held.letGo()
    const answered = await answering
    expect(answered).toMatchObject({ status: 'completed', previous_response_id: asked.id })
    expect(answered.id).not.toBe(asked.id)
    expect(answered.output_text).toContain('Tomorrow too.')
    expect(await again).toEqual(answered)
    expect((await client.responses.retrieve(asked.id)).output).toEqual(asked.output)
    expect(await client.responses.retrieve(answered.id)).toEqual(answered)
    const log = await textsOf(conversationOf(asked))
    expect(log).toEqual([
      ['user', 'Hello'],
      ['assistant', undefined],
      ['tool', 'rain c1'],
      ['tool', 'rain c2'],
      ['assistant', 'thinking'],
      ['user', 'And tomorrow?'],
      ['assistant', 'Tomorrow too.'],
    ])
    expect(await sessionsOf(harness)).toHaveLength(1)
  })

  test('are rejected if a call has no output, and nothing is stored', async () => {
    const client = await open({ script: [{ calls }, { text: 'Both.' }] })
    const asked = await client.responses.create({ ...hello, tools: [...tools] })
    const body = { ...hello, previous_response_id: asked.id }
    const error = await refusal(client.responses.create({ ...body, input: [...output('c1'), ...said] }))
    expect([error.status, error.param]).toEqual([400, 'input'])
    expect(error.message).toContain('c2')
    expect(await textsOf(conversationOf(asked))).toHaveLength(4)
    const both = await client.responses.create({ ...body, input: [...output('c1'), ...output('c2')] })
    expect(both.output_text).toBe('Both.')
  })
})
