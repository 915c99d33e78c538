/* Evidence, limits: Reading a client tool's schema takes linear time. A check of arguments takes 250 ms at most. */
import { afterEach, describe, expect, test } from 'vitest'
import { expectJson, heldTurn, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'
import { makeTool } from '../../../agent/harness.ts'
import { PNG } from '../../../fixtures/png.ts'

interface Message {
  readonly id: string
  readonly role: string
  readonly parts: readonly { readonly type: string; readonly text?: string; readonly url?: string }[]
  readonly [field: string]: unknown
}

let harness: HttpHarness
afterEach(() => harness.close())

async function open(...options: Parameters<typeof openHttpHarness>): Promise<void> {
  harness = await openHttpHarness(...options)
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
}

const echo = makeTool('echo', async (input) => ({ text: JSON.stringify(input) }))

describe('an input', () => {
  test('waits for the run and returns it with its new messages, in order', async () => {
    await open({
      script: [
        { text: 'Let me see.', calls: [{ id: 'c1', name: 'echo', arguments: '{"b":1, "a":2}' }] },
        { text: 'Two.' },
      ],
      tools: [echo],
    })
    const run = await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', {
      content: 'How many?',
      user: 'user-7',
      metadata: { from: 'test' },
    })
    expect(run).toMatchObject({
      object: 'run',
      status: 'completed',
      stop_reason: 'answer',
      rounds: 2,
      error: null,
      waiting: [],
    })
    const messages = run['messages'] as Message[]
    expect(messages).toMatchObject([
      { role: 'user', user: 'user-7', metadata: { from: 'test' }, parts: [{ type: 'text', text: 'How many?' }] },
      {
        role: 'assistant',
        parts: [
          { type: 'text', text: 'Let me see.' },
          { type: 'tool_call', id: 'c1' },
        ],
        tool_calls: [{ id: 'c1', name: 'echo', arguments: '{"b":1, "a":2}' }],
        model: 'script/ed',
        finish_reason: 'tool-calls',
        usage: { total_tokens: 10, input_tokens: null },
      },
      {
        role: 'tool',
        tool_call_id: 'c1',
        tool_name: 'echo',
        call: 'echo(b=1, a=2)',
        sequence: 0,
        status: 'completed',
        parts: [{ type: 'text', text: '{"b":1,"a":2}' }],
        output: { bytes: 13, lines: 1, media_type: 'text/plain; charset=utf-8', offloaded: false },
      },
      { role: 'assistant', parts: [{ type: 'text', text: 'Two.' }] },
    ])
    const tool = messages[2] as Message
    expect(tool['output']).toMatchObject({
      pointer: `output:${tool.id}`,
      url: `/v1/sessions/s/messages/${tool.id}/output`,
    })
    expect(messages.map(({ id }) => id)).toEqual(messages.map(({ id }) => id).toSorted())
    for (const message of messages) expect(Object.keys(message)).not.toContain('generation')
    const session = await expectJson(harness, 200, 'GET', '/v1/sessions/s')
    expect(session).toMatchObject({
      run: { id: run['id'], status: 'completed' },
      usage: { runs: 1, rounds: 2, total_tokens: 20 },
    })
  })

  test('that follows another input gets only messages of its own run', async () => {
    await open({ script: [{ text: 'one' }, { text: 'two' }] })
    await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'first' })
    const run = await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'second' })
    expect(run['messages']).toMatchObject([{ parts: [{ text: 'second' }] }, { parts: [{ text: 'two' }] }])
  })

  test('with the header "Prefer: respond-async" gets 202 at once, with the address of the run', async () => {
    await open({ script: [{ text: 'done' }] })
    const headers = { prefer: 'respond-async' }
    const response = await harness.send('POST', '/v1/sessions/s/messages', { content: 'hi' }, headers)
    expect(response.status).toBe(202)
    expect(response.headers.get('preference-applied')).toBe('respond-async')
    const address = response.headers.get('location') ?? ''
    expect(address).toMatch(/^\/v1\/sessions\/s\/runs\/[0-9A-Z]{26}$/)
    await expect.poll(async () => (await expectJson(harness, 200, 'GET', address))['status']).toBe('completed')
  })

  test('whose run takes longer than "Prefer: wait" gets 202 with the current state of the run', async () => {
    const held = heldTurn()
    await open({ script: [held.turn] })
    const response = await harness.send('POST', '/v1/sessions/s/messages', { content: 'hi' }, { prefer: 'wait=0' })
    expect(response.status).toBe(202)
    expect(response.headers.get('preference-applied')).toBe('wait=0')
    const run = (await response.json()) as { id: string; status: string }
    expect(run.status).toMatch(/queued|running/)
    expect(response.headers.get('location')).toBe(`/v1/sessions/s/runs/${run.id}`)
    held.letGo()
  })

  test('whose run fails gets 200 with the failed run and its error', async () => {
    await open({
      script: [
        async function* () {
          yield* []
          throw new Error('the model is gone')
        },
      ],
    })
    const run = await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'hi' })
    expect(run).toMatchObject({
      status: 'failed',
      stop_reason: 'error',
      error: { retryable: expect.any(Boolean) as boolean },
    })
    const messages = run['messages'] as Message[]
    expect(messages.at(-1)?.parts.at(-1)).toMatchObject({ type: 'error' })
  })

  test('gets 409 during a run if it requests rejection', async () => {
    const held = heldTurn()
    await open({ script: [held.turn] })
    await expectJson(harness, 202, 'POST', '/v1/sessions/s/messages', { content: 'hi' }, { prefer: 'wait=0' })
    const problem = await expectJson(harness, 409, 'POST', '/v1/sessions/s/messages', {
      content: 'hi',
      on_busy: 'reject',
    })
    expect(problem['type']).toBe('urn:tooltrail:problem:session_busy')
    held.letGo()
  })

  test('with two tools of one name is rejected', async () => {
    await open()
    const tools = Array(2).fill({ name: 'a', description: '', parameters: {} })
    expect(await expectJson(harness, 400, 'POST', '/v1/sessions/s/messages', { content: 'hi', tools })).toMatchObject({
      errors: [{ path: 'body.tools[1].name', message: 'there are several tools named a' }],
    })
  })

  test("with unknown fields gets one error for each field, with the field's path", async () => {
    await open()
    const body = { content: 'hi', colour: 'red', tools: [{ name: 'a', description: '', parameters: {}, size: 1 }] }
    expect(await expectJson(harness, 400, 'POST', '/v1/sessions/s/messages', body)).toMatchObject({
      errors: [
        { path: 'body.tools[0].size', message: 'is not a known field' },
        { path: 'body.colour', message: 'is not a known field' },
      ],
    })
  })

  test('with an empty or invalid body that claims to be JSON gets an error with the reason', async () => {
    await open()
    const path = '/v1/sessions/s/messages'
    expect(await expectJson(harness, 400, 'POST', path, '')).toMatchObject({ errors: [{ path: 'body.content' }] })
    expect(await expectJson(harness, 400, 'POST', path, '{')).toMatchObject({ detail: 'the body is not JSON' })
    // A request that needs no body works without one, whatever its content type.
    expect(await expectJson(harness, 201, 'POST', '/v1/sessions', '')).toHaveProperty('id')
  })

  test('with mistakes gets readable errors, the first one also in the detail', async () => {
    await open()
    const send = (body: unknown) => expectJson(harness, 400, 'POST', '/v1/sessions/s/messages', body)
    const missing = await send({ content: [{ type: 'text' }] })
    expect(missing).toMatchObject({
      detail: 'the request is not valid: body.content[0].text is missing',
      errors: [{ path: 'body.content[0].text', message: 'is missing' }],
    })
    const twice = await expectJson(harness, 400, 'GET', '/v1/sessions/s/messages?limit=1&limit=2')
    expect(twice['errors']).toEqual([{ path: 'query.limit', message: 'can be given once only' }])
  })

  test('to an unknown session gets 404, and nothing is created', async () => {
    await open()
    await expectJson(harness, 404, 'POST', '/v1/sessions/nothing/messages', { content: 'hi' })
    await expectJson(harness, 404, 'GET', '/v1/sessions/nothing')
  })

  test.each([
    ['no content', {}, 'body.content'],
    ['content that is a number', { content: 7 }, 'body.content'],
    ['no parts', { content: [] }, 'body.content'],
    ['more than 64 parts', { content: Array(65).fill({ type: 'text', text: 'x' }) }, 'body.content'],
    ['a part of no known type', { content: [{ type: 'video' }] }, 'body.content[0].type'],
    ['a text part without text', { content: [{ type: 'text' }] }, 'body.content[0].text'],
    ['a part with an unknown field', { content: [{ type: 'text', text: '', more: 1 }] }, 'body.content[0].more'],
    [
      'data that is not base64',
      { content: [{ type: 'file', media_type: 'a/b', data: '####' }] },
      'body.content[0].data',
    ],
    ['base64 with blanks', { content: [{ type: 'file', media_type: 'a/b', data: 'aGk= ' }] }, 'body.content[0].data'],
    [
      'base64 without padding',
      { content: [{ type: 'file', media_type: 'a/b', data: 'aGkxMQ' }] },
      'body.content[0].data',
    ],
    [
      'a wrong media type',
      { content: [{ type: 'image', media_type: 'png', data: PNG }] },
      'body.content[0].media_type',
    ],
    ['an image of text', { content: [{ type: 'image', media_type: 'a/b', data: PNG }] }, 'body.content[0].media_type'],
    [
      'a file name with a folder',
      { content: [{ type: 'image', media_type: 'image/png', filename: '../a', data: PNG }] },
      'body.content[0].filename',
    ],
    ['a user that is a number', { content: 'x', user: 1 }, 'body.user'],
    ['metadata that is a string', { content: 'x', metadata: 'x' }, 'body.metadata'],
    ['an unknown on_busy', { content: 'x', on_busy: 'wait' }, 'body.on_busy'],
    ['an unknown field', { content: 'x', role: 'user' }, 'body.role'],
    [
      'a tool with a wrong name',
      { content: 'x', tools: [{ name: 'a b', description: '', parameters: {} }] },
      'body.tools[0].name',
    ],
    [
      'a tool without parameters',
      { content: 'x', tools: [{ name: 'a', description: '' }] },
      'body.tools[0].parameters',
    ],
    [
      'parameters that refer to themselves for ever',
      { content: 'x', tools: [{ name: 'a', description: '', parameters: { $ref: '#' } }] },
      'body.tools[0].parameters',
    ],
    [
      'more than 128 tools',
      {
        content: 'x',
        tools: Array.from({ length: 129 }, (_, index) => ({ name: `t${index}`, description: '', parameters: {} })),
      },
      'body.tools',
    ],
  ])('with %s is rejected with the path of the mistake, and nothing is stored', async (_name, body, path) => {
    await open()
    const problem = await expectJson(harness, 400, 'POST', '/v1/sessions/s/messages', body)
    expect(problem['errors']).toMatchObject([{ path }])
    expect((await expectJson(harness, 200, 'GET', '/v1/sessions/s/runs'))['data']).toEqual([])
  })
})

describe('an Idempotency-Key', () => {
  test('with an equal body returns the same run, which is executed once', async () => {
    await open({ script: [{ text: 'one' }, { text: 'two' }] })
    const headers = { 'idempotency-key': 'k 1' }
    const first = await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'hi' }, headers)
    const again = await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'hi' }, headers)
    expect(again).toEqual(first)
    expect(harness.requests).toHaveLength(1)
  })

  test('with another body is refused', async () => {
    await open()
    const headers = { 'idempotency-key': 'k' }
    await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: 'hi' }, headers)
    await expectJson(harness, 409, 'POST', '/v1/sessions/s/messages', { content: 'ho' }, headers)
  })

  test.each([
    ['no characters', ''],
    ['256 characters', 'x'.repeat(256)],
    ['a character beyond ASCII', 'é'],
  ])('of %s is rejected', async (_name, key) => {
    await open()
    const response = await harness.send(
      'POST',
      '/v1/sessions/s/messages',
      { content: 'hi' },
      { 'idempotency-key': key },
    )
    expect(response.status).toBe(400)
  })
})
