/* Evidence, clients: Responses expand namespaces of tools for the model, and ignore tools that OpenAI executes. */
import type OpenAI from 'openai'
import { afterEach, describe, expect, test } from 'vitest'
import { makeTool } from '../../../agent/harness.ts'
import { expectJson, openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'
import { logOf, openAiClient, refusal, sessionsOf } from '../openai-client.ts'

let harness: HttpHarness
afterEach(() => harness.close())

type Options = NonNullable<Parameters<typeof openHttpHarness>[0]>
async function open(options: Options = {}): Promise<OpenAI> {
  harness = await openHttpHarness(options)
  return openAiClient(harness)
}

const parameters = { type: 'object', properties: {} }
const plain = { type: 'function', name: 'weather', parameters, strict: false } as const
const crm = {
  type: 'namespace',
  name: 'crm',
  description: 'The customers.',
  tools: [
    { type: 'function', name: 'find', description: 'Finds one.', parameters, strict: false },
    { type: 'function', name: 'count', parameters, strict: true },
    { type: 'custom', name: 'note' },
  ],
} satisfies OpenAI.Responses.NamespaceTool
const hello = { model: 'default', input: 'Hello' } as const
const output = (id: string) => [{ type: 'function_call_output', call_id: id, output: 'Ada' }] as const

describe('a namespace', () => {
  const script: Options['script'] = [
    { calls: [{ id: 'c1', name: 'crm__find', arguments: '{"name":"Ada"}' }] },
    { calls: [{ id: 'c2', name: 'weather' }] },
    { text: 'Done.' },
  ]

  test('is expanded for the model, and a call is answered with its name and namespace', async () => {
    const client = await open({ script })
    const events: OpenAI.Responses.ResponseStreamEvent[] = []
    const stream = client.responses.stream({ ...hello, tools: [crm, plain] })
    for await (const event of stream) events.push(event)
    const asked = await stream.finalResponse()
    expect(harness.requests[0]?.tools).toMatchObject([
      { name: 'crm__find', description: 'Finds one.' },
      { name: 'crm__count', description: 'The customers.' },
      { name: 'weather' },
    ])
    const call = { type: 'function_call', call_id: 'c1', name: 'find', namespace: 'crm', arguments: '{"name":"Ada"}' }
    expect(asked.output).toMatchObject([call])
    expect(events.find(({ type }) => type === 'response.function_call_arguments.done')).toMatchObject({ name: 'find' })
    expect(events.find(({ type }) => type === 'response.output_item.done')).toMatchObject({ item: call })
    expect(asked.tools).toMatchObject([
      { name: 'crm__find' },
      { name: 'crm__count', strict: true },
      { name: 'weather' },
    ])
    expect(asked.metadata).toEqual({ tooltrail_ignored_tools: 'custom' })
    const next = await client.responses.create({ ...hello, previous_response_id: asked.id, input: [...output('c1')] })
    expect(next.output).toMatchObject([{ name: 'weather' }])
    expect(next.output[0]).not.toHaveProperty('namespace')
  })

  test('stays with its calls after another request has replaced the tools', async () => {
    const client = await open({ script })
    const asked = await client.responses.create({ ...hello, tools: [crm] })
    const next = { ...hello, previous_response_id: asked.id, input: [...output('c1')], tools: [plain] }
    const done = await client.responses.create(next)
    const call = { name: 'find', namespace: 'crm' }
    expect((await client.responses.retrieve(asked.id)).output).toMatchObject([call])
    const conversation = done.conversation?.id ?? ''
    const items = await client.conversations.items.list(conversation, { order: 'asc' })
    expect(items.data[1]).toMatchObject(call)
    expect((await logOf(harness, conversation))[2]).toMatchObject({ tool_name: 'crm__find', namespace: 'crm' })
  })

  test('is kept by a fork and by an export that is imported', async () => {
    const client = await open({ script: [...script, { text: 'Again.' }] })
    const asked = await client.responses.create({ ...hello, tools: [crm] })
    await client.responses.create({ ...hello, previous_response_id: asked.id, input: [...output('c1')], tools: [] })
    const from = asked.conversation?.id ?? ''
    await expectJson(harness, 201, 'POST', `/v1/sessions/${from}/fork`, { id: 'copy' })
    const lines = await (await harness.send('GET', `/v1/sessions/${from}/export?format=native`)).text()
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'imported' })
    const messages = lines.trim().split('\n').slice(1)
    await expectJson(harness, 200, 'POST', '/v1/sessions/imported/import', {
      format: 'native',
      messages: messages.map((line) => JSON.parse(line) as unknown),
    })
    for (const session of ['copy', 'imported'])
      expect((await client.conversations.items.list(session, { order: 'asc' })).data[1]).toMatchObject({
        name: 'find',
        namespace: 'crm',
      })
  })

  test('is part of the history that a client sends back', async () => {
    const client = await open({ script })
    const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'Hello' }]
    const asked = await client.responses.create({ ...hello, input, tools: [crm] })
    const whole = [...input, ...asked.output, ...output('c1')] as OpenAI.Responses.ResponseInput
    await client.responses.create({ ...hello, input: whole, tools: [plain] })
    expect(await sessionsOf(harness)).toHaveLength(1)
    expect(harness.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool', toolName: 'crm__find' })
  })
})

test('tools that OpenAI executes are ignored, and listed in the metadata', async () => {
  const client = await open({ tools: [makeTool('look', async () => ({ text: 'seen' }))] })
  const tools = [
    { type: 'web_search' },
    { type: 'code_interpreter', container: { type: 'auto' } },
    { type: 'web_search', search_context_size: 'low' },
    plain,
  ] satisfies OpenAI.Responses.Tool[]
  const made = await client.responses.create({ ...hello, tools, metadata: { ticket: '7' } })
  expect(made.metadata).toEqual({ ticket: '7', tooltrail_ignored_tools: 'web_search,code_interpreter' })
  expect(harness.requests[0]?.tools.map(({ name }) => name)).toEqual(['weather', 'look'])
  expect(await client.responses.retrieve(made.id)).toEqual(made)
  expect((await client.responses.create(hello)).metadata).toEqual({})
})

describe('an invalid tool is rejected with the name of its field, and nothing is stored', () => {
  const inCrm = (...tools: object[]) => [{ ...crm, tools }]
  test.each<[string, object[], string]>([
    ['an unknown type', [{ type: 'telepathy' }], 'tools[0].type'],
    ['a namespace without a name', [{ ...crm, name: '' }], 'tools[0].name'],
    ['an unknown type in a namespace', inCrm({ type: 'mcp' }), 'tools[0].tools[0].type'],
    ['a bad name in a namespace', inCrm({ ...plain, name: 'a b' }), 'tools[0].tools[0].name'],
    ['a repeated name in a namespace', inCrm(plain, plain), 'tools[0].tools[1].name'],
    [
      'a function with the name of a tool of a namespace',
      [...inCrm(plain), { ...plain, name: 'crm__weather' }],
      'tools[1].name',
    ],
    ['the name of a built-in tool', [{ ...plain, name: 'http_fetch' }], 'tools[0].name'],
    [
      'the name of a built-in tool after an ignored tool',
      [{ type: 'mcp' }, { ...plain, name: 'http_fetch' }],
      'tools[1].name',
    ],
    [
      'too many functions in namespaces',
      [0, 1].map((n) => ({
        ...crm,
        name: `n${n}`,
        tools: Array.from({ length: 65 }, (_, at) => ({ ...plain, name: `t${at}` })),
      })),
      'tools',
    ],
  ])('%s', async (_, tools, param) => {
    const client = await open()
    const error = await refusal(client.responses.create({ ...hello, tools: tools as never }))
    expect(error).toMatchObject({ status: 400, param })
    expect(await sessionsOf(harness)).toEqual([])
  })
})
