/* Evidence, clients: OpenAI's package works over Responses: streams, resumption, tools, branches and repeated
 * requests. */
/* Evidence, clients: In each format, members' work and waiting approvals are shown as the format's table describes. */
import type OpenAI from 'openai'
import { afterEach, describe, expect, test } from 'vitest'
import { makeTool } from '../../../agent/harness.ts'
import { expectJson, heldTurn, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'
import { logOf, openAiClient, refusal, sessionsOf, SHOW_CALLS } from '../openai-client.ts'

type Events = OpenAI.Responses.ResponseStreamEvent[]

let harness: HttpHarness
afterEach(() => harness.close())

type Options = NonNullable<Parameters<typeof openHttpHarness>[0]>
async function open(options: Options = {}): Promise<OpenAI> {
  harness = await openHttpHarness(options)
  return openAiClient(harness)
}

const hello = { model: 'default', input: 'Hello' } as const
const log = (session: string) => logOf(harness, session)
const sessions = () => sessionsOf(harness)
const conversationOf = ({ conversation }: OpenAI.Responses.Response): string => conversation?.id ?? ''

describe('a Response after another', () => {
  test('continues in the session if the previous Response is the newest of that session, otherwise in a copy', async () => {
    const client = await open({ script: ['One.', 'Two.', 'Three.', 'Four.'].map((text) => ({ text })) })
    const first = await client.responses.create(hello)
    const second = await client.responses.create({ ...hello, previous_response_id: first.id })
    expect(conversationOf(second)).toBe(conversationOf(first))
    const branch = await client.responses.create({ ...hello, input: 'Otherwise', previous_response_id: first.id })
    expect(conversationOf(branch)).not.toBe(conversationOf(first))
    expect((await log(conversationOf(branch))).map(({ parts }) => (parts as { text: string }[])[0]?.text)).toEqual([
      'Hello',
      'One.',
      'Otherwise',
      'Three.',
    ])
    expect(await log(conversationOf(first))).toHaveLength(4)
    // This input is sent over our own API, not over Responses.
    const { id } = (await sessions()).find((one) => one['id'] === conversationOf(branch)) ?? {}
    await expectJson(harness, 200, 'POST', `/v1/sessions/${String(id)}/messages`, { content: 'By the way' })
    const third = await client.responses.create({ ...hello, previous_response_id: branch.id })
    expect(conversationOf(third)).not.toBe(conversationOf(branch))
    expect(await sessions()).toHaveLength(3)
  })

  test('continues in a copy if messages were imported after the previous Response', async () => {
    const client = await open()
    const first = await client.responses.create(hello)
    await expectJson(harness, 200, 'POST', `/v1/sessions/${conversationOf(first)}/import`, {
      format: 'openai',
      messages: [{ role: 'user', content: 'Elsewhere' }],
    })
    const second = await client.responses.create({ ...hello, previous_response_id: first.id })
    expect(conversationOf(second)).not.toBe(conversationOf(first))
  })

  test('continues in three separate conversations if three requests are concurrent', async () => {
    const client = await open()
    const first = await client.responses.create(hello)
    const all = await Promise.all(
      ['a', 'b', 'c'].map((input) => client.responses.create({ ...hello, input, previous_response_id: first.id })),
    )
    for (const one of all) expect(await log(conversationOf(one))).toHaveLength(4)
    expect(new Set(all.map(conversationOf)).size).toBe(3)
  })

  test.each(['here', 'in a copy'])('is returned again under its idempotency key, also later: %s', async (where) => {
    const client = await open()
    const first = await client.responses.create(hello)
    if (where === 'in a copy') await client.responses.create({ ...hello, previous_response_id: first.id })
    const headers = { 'idempotency-key': 'order-1' }
    const body = { ...hello, input: 'Once', previous_response_id: first.id }
    const made = await client.responses.create(body, { headers })
    await client.responses.create({ ...hello, input: 'More', previous_response_id: made.id })
    const count = (await sessions()).length
    expect(await client.responses.create(body, { headers })).toEqual(made)
    expect(await sessions()).toHaveLength(count)
    expect(conversationOf(made) === conversationOf(first)).toBe(where === 'here')
  })

  test('joins the run of its first request if that request was aborted and is repeated', async () => {
    const held = heldTurn()
    const client = await open({ script: [{ text: 'One.' }, held.turn] })
    const first = await client.responses.create(hello)
    const body = { ...hello, previous_response_id: first.id, stream: true as const }
    for await (const _ of await client.responses.create(body)) break
    const again = await client.responses.create(body, { headers: { 'x-stainless-retry-count': '1' } })
    held.letGo()
    let last: Events[number] | undefined
    for await (const event of again) last = event
    expect(last).toMatchObject({
      type: 'response.completed',
      response: { output: [{ content: [{ text: 'thinking' }] }] },
    })
    expect(await sessions()).toHaveLength(1)
    expect(harness.requests).toHaveLength(2)
  })
})

describe('a Response that continues', () => {
  test('in the background can be followed, cancelled, and followed again from the middle', async () => {
    const held = heldTurn()
    const client = await open({ script: [held.turn, { text: 'Two.' }] })
    const made = await client.responses.create({ ...hello, background: true })
    expect(['queued', 'in_progress']).toContain(made.status)
    expect(made).toMatchObject({ background: true, usage: null })
    const followed: Events = []
    for await (const event of await client.responses.retrieve(made.id, { stream: true })) {
      followed.push(event)
      if (event.type === 'response.output_text.delta') break
    }
    const cancelled = await client.responses.cancel(made.id)
    expect(cancelled).toMatchObject({ id: made.id, status: 'cancelled' })
    const rest: Events = []
    const last = followed.at(-1)
    const after = last !== undefined && 'sequence_number' in last ? last.sequence_number : 0
    for await (const event of await client.responses.retrieve(made.id, { stream: true, starting_after: after }))
      rest.push(event)
    expect(rest.at(-1)).toMatchObject({ type: 'response.incomplete', response: { status: 'cancelled' } })
    expect(rest.filter(({ type }) => type === 'response.output_text.delta')).toEqual([])
    expect(await client.responses.cancel(made.id)).toMatchObject({ status: 'cancelled' })
  })

  test('runs to its end after its client left', async () => {
    const held = heldTurn()
    const client = await open({ script: [held.turn] })
    const stream = await client.responses.create({ ...hello, stream: true })
    let id = ''
    for await (const event of stream) {
      if (event.type === 'response.created') id = event.response.id
      break
    }
    held.letGo()
    await expect.poll(async () => (await client.responses.retrieve(id)).status).toBe('completed')
  })

  test('is incomplete while it waits for a decision, and complete afterwards', async () => {
    const client = await open({
      tools: [makeTool('pay', async () => ({ text: 'paid' }), { needsApproval: true })],
      script: [{ calls: [{ id: 'p1', name: 'pay' }] }, { text: 'Done.' }],
    })
    const made = await client.responses.create(hello, SHOW_CALLS)
    expect(made).toMatchObject({
      status: 'incomplete',
      incomplete_details: null,
      metadata: { tooltrail_waiting: 'approval' },
      output: [],
    })
    const run = made.id.slice('resp_'.length)
    await expectJson(harness, 200, 'POST', `/v1/sessions/${conversationOf(made)}/runs/${run}/tool-results`, {
      results: [{ tool_call_id: 'p1', approve: true }],
    })
    const whole = await client.responses.retrieve(made.id)
    expect(whole).toMatchObject({ status: 'completed', output_text: 'Done.', metadata: {} })
    expect(whole.output.map(({ type }) => type)).toEqual(['function_call', 'function_call_output', 'message'])
  })
})

describe('a conversation', () => {
  test('is a session: it starts with items, is continued, and its items are listed', async () => {
    const client = await open({
      tools: [makeTool('look', async () => ({ text: 'seen' }))],
      script: [{ text: 'Let me look.', calls: [{ id: 'c1', name: 'look' }] }, { text: 'Here.' }],
    })
    const made = await client.conversations.create({
      metadata: { topic: 'things' },
      items: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Hello.' },
      ],
    })
    expect(await client.conversations.retrieve(made.id)).toEqual(made)
    expect(made).toMatchObject({ object: 'conversation', metadata: { topic: 'things' } })
    const body = { ...hello, input: 'Where is it?', conversation: made.id }
    const response = await client.responses.create(body, SHOW_CALLS)
    expect(conversationOf(response)).toBe(made.id)
    const listed: { id?: string | null; type: string }[] = []
    for await (const item of client.conversations.items.list(made.id, { order: 'asc' })) listed.push(item)
    expect(listed.map(({ type }) => type)).toEqual([
      ...['message', 'message', 'message', 'message'],
      ...['function_call', 'function_call_output', 'message'],
    ])
    expect(listed.slice(3)).toEqual(response.output)
    const paged: typeof listed = []
    for await (const item of client.conversations.items.list(made.id, { limit: 2 })) paged.push(item)
    expect(paged).toEqual(listed.toReversed())
    expect(await sessions()).toMatchObject([{ id: made.id, metadata: { topic: 'things' } }])
  })

  test('is not found by a client that does not own it', async () => {
    const client = await open()
    const made = await client.responses.create(hello)
    const { authorization } = await harness.key({ owner: 'ann' })
    const anns = openAiClient(harness, { apiKey: authorization.slice('Bearer '.length) })
    const id = conversationOf(made)
    for (const request of [
      anns.responses.retrieve(made.id),
      anns.responses.cancel(made.id),
      anns.responses.create({ ...hello, previous_response_id: made.id }),
      anns.responses.create({ ...hello, conversation: id }),
      anns.conversations.retrieve(id),
      anns.conversations.items.list(id),
    ])
      expect((await refusal(request)).status).toBe(404)
  })

  test('deletes its Responses when it is deleted, and an unstored Response is never found', async () => {
    const client = await open()
    const made = await client.responses.create(hello)
    const unkept = await client.responses.create({ ...hello, store: false })
    expect(unkept).toMatchObject({ store: false, status: 'completed' })
    expect((await refusal(client.responses.retrieve(unkept.id))).status).toBe(404)
    expect(await log(conversationOf(unkept))).toHaveLength(2)
    await harness.send('DELETE', `/v1/sessions/${conversationOf(made)}`)
    expect((await refusal(client.responses.retrieve(made.id))).status).toBe(404)
  })
})

describe('an invalid request is rejected with the name of its field, and nothing is stored', () => {
  const user = (content: unknown) => ({ input: [{ role: 'user', content }] })
  const image = (url: string) => user([{ type: 'input_image', image_url: url }])
  test.each<[string, object, number, string]>([
    ['no model', { model: undefined }, 400, 'model'],
    ['an unknown model', { model: 'gpt-5' }, 404, 'model'],
    ['no input', { input: undefined }, 400, 'input'],
    ['an empty input', { input: [] }, 400, 'input'],
    ['only an instruction', { input: [{ role: 'developer', content: 'x' }] }, 400, 'input'],
    ['a role that nobody has', { input: [{ role: 'robot', content: 'x' }] }, 400, 'input[0].role'],
    ['an item of another type', { input: [{ type: 'web_search_call' }] }, 400, 'input[0].type'],
    ['a reference to an item', { input: [{ type: 'item_reference', id: 'msg_1' }] }, 404, 'input[0]'],
    ['a number as content', user(7), 400, 'input[0].content'],
    ['a part of another type', user([{ type: 'input_audio' }]), 400, 'input[0].content[0].type'],
    ['an image by an internal address', image('https://127.0.0.1/a.png'), 422, 'input[0].content[0].image_url'],
    ['a file by id', user([{ type: 'input_file', file_id: 'f' }]), 400, 'input[0].content[0].file_id'],
    ['a text as image', image('data:text/plain;base64,YQ=='), 400, 'input[0].content[0].image_url'],
    ['an image that is none', image('data:image/png;base64,YWJj'), 422, 'input[0].content[0].image_url'],
    [
      'an output without a call',
      { input: [{ type: 'function_call_output', call_id: 'a', output: 'x' }] },
      400,
      'input[0]',
    ],
    ['a Response that nobody knows', { previous_response_id: 'resp_1' }, 404, 'previous_response_id'],
    [
      'a conversation and a Response',
      { previous_response_id: 'resp_1', conversation: 'a' },
      400,
      'previous_response_id',
    ],
    ['a conversation that is a number', { conversation: 7 }, 400, 'conversation'],
    ['a bad conversation', { conversation: '../x' }, 400, 'conversation'],
    ['a Response in the background that nobody could read', { background: true, store: false }, 400, 'background'],
    ['a forced call without tools', { tool_choice: 'required' }, 400, 'tool_choice'],
    ['a choice of no tool', { tool_choice: { type: 'function', name: 'x' } }, 400, 'tool_choice.name'],
    ['XML as format', { text: { format: { type: 'xml' } } }, 400, 'text.format.type'],
    [
      'a circular schema',
      { text: { format: { type: 'json_schema', name: 'x', schema: { $ref: '#' } } } },
      400,
      'text.format.schema',
    ],
    ['no output tokens', { max_output_tokens: 0 }, 400, 'max_output_tokens'],
    ['an effort that is a number', { reasoning: { effort: 7 } }, 400, 'reasoning.effort'],
    ['a tool of ours', { tools: [{ type: 'function', name: 'http_fetch' }] }, 400, 'tools[0].name'],
    ['a prompt', { prompt: { id: 'p' } }, 400, 'prompt'],
  ])('%s', async (_, fields, status, param) => {
    const client = await open()
    const body = { ...hello, ...fields } as unknown as OpenAI.Responses.ResponseCreateParamsNonStreaming
    const error = await refusal(client.responses.create(body))
    expect([error.status, error.param]).toEqual([status, param])
    expect(error.message).not.toMatch(/Invalid input$/)
    expect(await sessions()).toEqual([])
  })

  test('an unknown conversation, and an unknown item as a position', async () => {
    const client = await open()
    const error = await refusal(client.responses.create({ ...hello, conversation: 'nobody' }))
    expect([error.status, error.code, error.param]).toEqual([404, 'conversation_not_found', 'conversation'])
    const read = await refusal(client.conversations.retrieve('nobody'))
    expect([read.status, read.param]).toEqual([404, 'conversation'])
    const { id } = await client.conversations.create({})
    const list = await refusal(client.conversations.items.list(id, { after: 'msg_01JD2Q8N4T6W8Y0A2C4E6G8J0K' }))
    expect([list.status, list.param]).toEqual([400, 'after'])
  })
})
