/* Evidence, limits: A long input delays no other request in the demo model. */
import { describe, expect, it } from 'vitest'
import { createDemoModel } from '../../../../functions/adapters/models/demo/demo.ts'
import type { ModelRequest, RequestMessage } from '../../../../functions/domain/model-request.ts'
import type { Completion, ModelEvent } from '../../../../functions/ports/model.ts'

const TOOLS = [
  ...['current_time', 'search_history', 'read_output', 'http_fetch', 'approve-me', 'delegate_task_to_member'],
  ...['demo_publish', 'demo_report', 'demo_wait', 'demo_sources'],
]
const POINTER = 'output:01HF7YAT00EV2ATFGBN6Z16NRQ'

const user = (text: string): RequestMessage => ({ role: 'user', parts: [{ type: 'text', text }] })
const result = (toolName: string, text: string, isError = false): RequestMessage => ({
  role: 'tool',
  toolCallId: 'call',
  toolName,
  isError,
  parts: [{ type: 'text', text }],
})
const asked: RequestMessage = { role: 'assistant', parts: [{ type: 'text', text: 'calling' }] }

function request(messages: readonly RequestMessage[], change: Partial<ModelRequest> = {}): ModelRequest {
  const tools = TOOLS.map((name) => ({ name, description: name, parameters: { type: 'object' } }))
  return { messages, tools, toolChoice: 'auto', options: {}, ...change }
}

async function events(asking: ModelRequest): Promise<ModelEvent[]> {
  const found: ModelEvent[] = []
  for await (const event of createDemoModel().stream(asking, new AbortController().signal)) found.push(event)
  return found
}

async function completion(asking: ModelRequest): Promise<Completion> {
  const last = (await events(asking)).at(-1)
  if (last?.type !== 'completion') throw new Error('no completion')
  return last.completion
}

const text = ({ parts }: Completion): string =>
  parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join()
const calls = async (input: string, change: Partial<ModelRequest> = {}): Promise<string[]> =>
  (await completion(request([user(input)], change))).toolCalls.map((call) => `${call.name} ${call.arguments}`)

describe('the demo model', () => {
  it('matches and quotes only the beginning of a long input', async () => {
    expect(await calls(`what time is it, then ${'😀"'.repeat(1_000_000)}`)).toEqual(['current_time {}'])
    const late = await completion(request([user(`${'q'.repeat(100_000)}, then what time is it`)]))
    expect(late.toolCalls).toEqual([])
    expect(text(late)).toContain(`${'q'.repeat(600)}…`)
  })

  it.each([
    ['what time is it', ['current_time {}']],
    ['What time is it in Europe/Berlin?', ['current_time {"timezone":"Europe/Berlin"}']],
    ['search history for git status', ['search_history {"query":"git status"}']],
    ['Search for "invoices".', ['search_history {"query":"invoices"}']],
    ['Search history for how to use git', ['search_history {"query":"how to use git"}']],
    ['please search for why the tests fail', ['search_history {"query":"why the tests fail"}']],
    [`read ${POINTER}`, [`read_output {"pointer":"${POINTER}"}`]],
    [`read ${POINTER} lines 3-9`, [`read_output {"pointer":"${POINTER}","lines":"3-9"}`]],
    ['fetch https://example.com/a?b=c', ['http_fetch {"url":"https://example.com/a?b=c"}']],
    ['use approve-me with {"n": 1.0}', ['approve-me {"n": 1.0}']],
    ['call approve-me', ['approve-me {}']],
    ['what time is it and search history for cats at once', ['current_time {}', 'search_history {"query":"cats"}']],
    ['fail', ['current_time {"broken": ']],
    ['delegate what time is it to the clock.', ['delegate_task_to_member {"member":"clock","task":"what time is it"}']],
    [
      'delegate "think about it, then search for cats" to a-2 and delegate wait 5 seconds to b at once',
      [
        'delegate_task_to_member {"member":"a-2","task":"think about it, then search for cats"}',
        'delegate_task_to_member {"member":"b","task":"wait 5 seconds"}',
      ],
    ],
    ['publish the report', ['demo_publish {"what":"the report"}']],
    ['write a long report', ['demo_report {}']],
    ['wait 7 seconds', ['demo_wait {"seconds":7}']],
    ['wait', ['demo_wait {"seconds":20}']],
    ['help', []],
    ['hello', []],
  ])('calls tools for simple requests: %s', async (input, expected) => {
    expect(await calls(input)).toEqual(expected)
  })

  it.each([
    [
      'use approve-me with {"a":1,"b":2} and use approve-me with {"q":"one, two and three"} at once',
      ['approve-me {"a":1,"b":2}', 'approve-me {"q":"one, two and three"}'],
    ],
    [
      'use approve-me with {"question": "Ship the blue crates, and the red ones?"}, and what time is it at once',
      ['approve-me {"question": "Ship the blue crates, and the red ones?"}', 'current_time {}'],
    ],
    [
      'use approve-me with {"a": ["{", {"b": "\\"} and "}, 3]} and what time is it in parallel.',
      ['approve-me {"a": ["{", {"b": "\\"} and "}, 3]}', 'current_time {}'],
    ],
    ['use approve-me with {"do": "a, then b and c at once"}', ['approve-me {"do": "a, then b and c at once"}']],
    ['search history for "salt and pepper, ground" at once', ['search_history {"query":"salt and pepper, ground"}']],
    ['use approve-me with {"a": and what time is it at once', ['approve-me {"a":', 'current_time {}']],
  ])('splits a request at separators outside braces and quotes only: %s', async (input, expected) => {
    expect(await calls(input)).toEqual(expected)
  })

  it('calls only tools that the request declares', async () => {
    expect(await calls('what time is it', { tools: [] })).toEqual([])
    expect(await calls('use rm with {}')).toEqual([])
  })

  it('reports an undeclared tool as unknown, once', async () => {
    const reported = text(await completion(request([user('use launch_rocket with {} and use launch_rocket')])))
    expect(reported.match(/launch_rocket is unknown/g)).toHaveLength(1)
    expect(text(await completion(request([user('use rocket with {"to": "the moon"}')])))).toContain('rocket is unknown')
    for (const input of ['use the tool rocket', 'use tool rocket now', 'Please use rocket.'])
      expect(text(await completion(request([user(input)]))), input).toContain('rocket is unknown')
    expect(text(await completion(request([user('use your head with care')])))).not.toContain('unknown')
  })

  it('cites the first source of a result and describes the images that it receives', async () => {
    expect((await completion(request([user('cite the hours')]))).toolCalls).toMatchObject([
      { name: 'demo_sources', arguments: '{"topic":"the hours"}' },
    ])
    const found = result('demo_sources', 'Found\n\n[source3] A — https://a.example\nText\n[source4] B')
    const cited = text(await completion(request([user('cite the hours'), asked, found])))
    expect(cited).toBe('Demo model (no real model):\n- demo_sources said: Found [source3]')
    const data = new Uint8Array(3)
    const image = { type: 'image', id: 'i', mediaType: 'image/png', filename: 'dot.png', data } as const
    const describe: RequestMessage = { role: 'user', parts: [{ type: 'text', text: 'describe the image' }, image] }
    expect(text(await completion(request([describe])))).toContain('dot.png (image/png, 3 bytes)')
    expect(text(await completion(request([user('describe the image')])))).toContain('no image')
  })

  it('omits phrases for undeclared tools from its help', async () => {
    const help = text(await completion({ ...request([user('help')]), tools: [] }))
    expect(help).toContain('fail once')
    for (const phrase of ['publish', 'search history', 'wait 20', 'delegate']) expect(help).not.toContain(phrase)
  })

  it('lists its phrases when asked for help, and answers other inputs with a hint to ask for help', async () => {
    const help = text(await completion(request([user('help')])))
    for (const phrase of ['what time is it', 'publish', 'long report', 'wait 20', 'fail once'])
      expect(help).toContain(phrase)
    expect(text(await completion(request([user('hello')])))).toContain('Say "help"')
  })

  it('fails once if the input asks for a failure, and succeeds when the request is repeated', async () => {
    const asking = request([user(`fail once, please: ${Math.random()}`)])
    await expect(completion(asking)).rejects.toMatchObject({ code: 'provider_error', retryable: false })
    expect(text(await completion(asking))).toContain('this time it succeeds')
  })

  it('executes one step after the other, then answers from the results', async () => {
    const input = user('what time is it, then search history for cats')
    expect((await completion(request([input]))).toolCalls.map((call) => call.name)).toEqual(['current_time'])
    const second = await completion(request([input, asked, result('current_time', 'noon')]))
    expect(second.toolCalls.map((call) => call.name)).toEqual(['search_history'])
    const done = [input, asked, result('current_time', 'noon'), asked, result('search_history', 'no such tool', true)]
    const last = await completion(request(done))
    expect(last.toolCalls).toEqual([])
    expect(text(last)).toContain('current_time said: noon')
    expect(text(last)).toContain('search_history failed: no such tool')
  })

  it('reads the newest visible pointer if the input names no pointer', async () => {
    const history = [user('x'), asked, result('shell', `preview\n\n[Full output: ${POINTER}, 1.2 MB]`), user('read it')]
    expect((await completion(request(history))).toolCalls[0]?.arguments).toBe(`{"pointer":"${POINTER}"}`)
  })

  it('states in every completion that it is no real model', async () => {
    for (const input of ['hello', 'what time is it']) {
      expect(text(await completion(request([user(input)])))).toContain('no real model')
    }
  })

  it('obeys the tool choice: none, required, or a named tool', async () => {
    expect(await calls('what time is it', { toolChoice: 'none' })).toEqual([])
    expect(await calls('hello', { toolChoice: { name: 'search_history' } })).toEqual(['search_history {}'])
    expect(await calls('hello', { toolChoice: 'required' })).toEqual(['current_time {}'])
  })

  it('answers in the requested format, with JSON that fits a simple schema', async () => {
    const schema = {
      $defs: { kind: { enum: ['a', 'b'] } },
      properties: {
        said: { type: 'string' },
        count: { type: 'integer', minimum: 3 },
        kinds: { type: 'array', items: { $ref: '#/$defs/kind' } },
        inner: { type: ['object', 'null'], properties: { is: { type: 'boolean' } } },
      },
    }
    const responseFormat = { type: 'json_schema', name: 'x', schema } as const
    const answer = JSON.parse(text(await completion(request([user('hello')], { responseFormat })))) as object
    expect(answer).toEqual({
      ...{ said: expect.stringContaining('no real model'), count: 3, kinds: ['a'], inner: { is: true } },
    })
    const circular = { type: 'json_schema', name: 'x', schema: { properties: { a: { $ref: '#' } } } } as const
    expect(text(await completion(request([user('hello')], { responseFormat: circular })))).toMatch(/^\{"a":/)
    const any = { responseFormat: { type: 'json_object' } } as const
    expect(JSON.parse(text(await completion(request([user('hello')], any))))).toHaveProperty('answer')
    expect(await calls('what time is it', { responseFormat })).toEqual(['current_time {}'])
  })

  it('repeats a completion exactly, with unique call ids and usage computed from lengths', async () => {
    const asking = request([user('what time is it and fetch https://a.b at once')])
    const first = await completion(asking)
    expect(await completion(asking)).toEqual(first)
    expect(new Set(first.toolCalls.map((call) => call.id)).size).toBe(2)
    expect(first.usage.totalTokens).toBe((first.usage.inputTokens ?? 0) + (first.usage.outputTokens ?? 0))
  })

  it('counts no image bytes as text', async () => {
    const image = { type: 'image', id: 'i', mediaType: 'image/png', data: new Uint8Array(100_000) } as const
    const { usage } = await completion(request([{ role: 'user', parts: [image] }]))
    expect(usage.inputTokens).toBeLessThan(1_000)
  })

  it('streams its thinking before its completion', async () => {
    const seen = await events(request([user('think about lunch')]))
    const streamed = (type: string): string =>
      seen.flatMap((event) => (event.type === type && 'text' in event ? [event.text] : [])).join('')
    const last = seen.at(-1)
    if (last?.type !== 'completion') throw new Error('no completion')
    expect(last.completion.parts.map((part) => part.type)).toEqual(['reasoning', 'text'])
    expect(last.completion.parts).toMatchObject([
      { text: streamed('reasoning.delta') },
      { text: streamed('text.delta') },
    ])
    expect(seen.length).toBeGreaterThan(4)
  })

  it('fails with a model error on request', async () => {
    await expect(completion(request([user('fail model')]))).rejects.toMatchObject({
      code: 'provider_error',
      retryable: false,
    })
  })

  it('rejects with the reason of an abort', async () => {
    const abort = new AbortController()
    const stream = createDemoModel()
      .stream(request([user('hello')]), abort.signal)
      [Symbol.asyncIterator]()
    await stream.next()
    abort.abort(new Error('enough'))
    await expect(stream.next()).rejects.toThrow('enough')
  })
})
