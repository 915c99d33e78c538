/* Evidence, clients: A request with tool results sets the tools and instructions of the rounds that follow. */
import type OpenAI from 'openai'
import { afterEach, describe, expect, test } from 'vitest'
import { makeTool } from '../agent/harness.ts'
import { expectJson, openHttpHarness } from './harness.ts'
import type { HttpHarness } from './harness.ts'
import { agUiAgent, pendingCalls, runAgUi, say } from './ag-ui/client.ts'
import { chatTransport, TestChat } from './ai-sdk/client.ts'
import { openAiClient, refusal } from './openai/openai-client.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const parameters = { type: 'object', properties: {} }
const call = (name: string, id = name) => ({ text: '', calls: [{ id, name, arguments: '{}' }] })
/** Two rounds that call tools of the client, and an answer. */
const script = [call('to_billing'), call('refund'), { text: 'Done.' }]

/** Instructions and tool names of each request that the model server received. */
const sent = () => harness.requests.map(({ instructions, tools }) => [instructions, ...tools.map(({ name }) => name)])

describe('a handoff between agents of the client', () => {
  const chatTool = (name: string) => ({ type: 'function', function: { name, parameters } }) as const
  const system = (content: string) => ({ role: 'system', content }) as const
  const hello = { role: 'user', content: 'I want my money.' } as const
  const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'yes' }) as const

  async function openChat() {
    harness = await openHttpHarness({ script })
    const client = openAiClient(harness)
    const said: OpenAI.ChatCompletionMessageParam[] = [hello]
    return async (instructions: string | undefined, fields: object) => {
      const first = instructions === undefined ? [] : [system(instructions)]
      const body = { model: 'default', messages: [...first, ...said], ...fields }
      const { choices } = await client.chat.completions.create(body)
      const message = choices[0]?.message
      if (message === undefined) throw new Error('there is no choice')
      const [called] = message.tool_calls ?? []
      said.push(message, ...(called === undefined ? [] : [result(called.id)]))
      return { body, message }
    }
  }

  test('over Chat Completions sends the model the tools and the system message of the newest request', async () => {
    const ask = await openChat()
    await ask('Triage.', { tools: [chatTool('to_billing')] })
    const { body } = await ask('Billing.', { tools: [chatTool('refund'), chatTool('look')] })
    const { message } = await ask('Refunds.', {})
    expect(message.content).toBe('Done.')
    expect(sent()).toEqual([
      ['Triage.', 'to_billing'],
      ['Billing.', 'refund', 'look'],
      ['Refunds.', 'refund', 'look'],
    ])
    const runs = await expectJson<{ data: unknown[] }>(harness, 200, 'GET', await runsPath())
    expect(runs.data).toHaveLength(1)
    const read = async () => [
      await expectJson(harness, 200, 'GET', await sessionPath()),
      await expectJson(harness, 200, 'GET', await runsPath()),
    ]
    const before = await read()
    expect(before[0]).toMatchObject({ instructions: 'Refunds.' })
    await openAiClient(harness).chat.completions.create(body, { headers: { 'x-stainless-retry-count': '1' } })
    expect(harness.requests).toHaveLength(3)
    const [session, all] = await read()
    expect([{ ...session, updated_at: 0 }, all]).toEqual([{ ...before[0], updated_at: 0 }, before[1]])
  })

  test('over Chat Completions may leave the model without tools, and keeps the system message if none is sent', async () => {
    const ask = await openChat()
    await ask('Triage.', { tools: [chatTool('to_billing')] })
    await ask(undefined, { tools: [chatTool('refund')] })
    await ask(undefined, { tools: [] })
    expect(harness.requests.map(({ instructions }) => instructions)).toEqual(['Triage.', 'Triage.', 'Triage.'])
    // If the history has calls, the request must declare their tools.
    expect(harness.requests.map(({ toolChoice }) => toolChoice)).toEqual(['auto', 'auto', 'none'])
  })

  test('over Responses drops instructions that the newest request lacks, but keeps the system items', async () => {
    harness = await openHttpHarness({ script })
    const client = openAiClient(harness)
    const tool = (name: string) => ({ type: 'function', name, parameters, strict: false }) as const
    const outputOf = (id: string) => [{ type: 'function_call_output', call_id: id, output: 'yes' }] as const
    const first = await client.responses.create({
      model: 'default',
      instructions: 'Triage.',
      input: [{ role: 'system', content: 'Be brief.' }, hello],
      tools: [tool('to_billing')],
    })
    const next = { model: 'default', instructions: 'Billing.', tools: [tool('refund')] }
    const second = await client.responses.create({
      ...next,
      previous_response_id: first.id,
      input: [...outputOf('to_billing')],
    })
    expect([second.instructions, second.tools]).toMatchObject(['Billing.', [{ name: 'refund' }]])
    const third = { model: 'default', previous_response_id: second.id, input: [...outputOf('refund~1')] }
    expect((await client.responses.create(third)).output_text).toBe('Done.')
    expect(sent()).toEqual([
      ['Triage.\n\nBe brief.', 'to_billing'],
      ['Billing.', 'refund'],
      ['Be brief.', 'refund'],
    ])
  })

  test("cannot replace a protected tool of the run's agent, even if the request names another agent", async () => {
    const tools = [makeTool('pay', async () => ({ text: 'paid' }), { needsApproval: true })]
    harness = await openHttpHarness({ script, tools, agents: [{ name: 'plain', tools: [] }] })
    const client = openAiClient(harness)
    const options = { headers: { 'x-session-id': 's' } }
    await client.chat.completions.create(
      { model: 'default', messages: [hello], tools: [chatTool('to_billing')] },
      options,
    )
    const body = { model: 'plain', messages: [result('to_billing')], tools: [chatTool('pay')] }
    expect(await refusal(client.chat.completions.create(body, options))).toMatchObject({
      status: 400,
      param: 'tools[0].function.name',
    })
  })

  async function sessionPath(): Promise<string> {
    const { data } = await expectJson<{ data: { id: string }[] }>(harness, 200, 'GET', '/v1/sessions')
    return `/v1/sessions/${data[0]?.id}`
  }
  const runsPath = async (): Promise<string> => `${await sessionPath()}/runs`
})

const plainTool = (name: string) => ({ name, description: '', parameters })

test('over AG-UI, the model gets only the tools of the newest request', async () => {
  harness = await openHttpHarness({ script })
  const agent = agUiAgent(harness, [say('I want my money.')])
  for (const name of ['to_billing', 'refund']) {
    await runAgUi(agent, { tools: [plainTool(name)] })
    const [toolCallId = ''] = pendingCalls(agent, name)
    agent.addMessage({ id: crypto.randomUUID(), role: 'tool', toolCallId, content: 'yes' })
  }
  await runAgUi(agent, { tools: [plainTool('look')] })
  expect(harness.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
    ['to_billing'],
    ['refund'],
    ['look'],
  ])
})

test('over `useChat`, the model gets the tools of the newest request, and earlier calls stay client calls', async () => {
  harness = await openHttpHarness({ script })
  const chat = new TestChat({ id: 'talk', transport: chatTransport(harness) })
  const answer = (toolCallId: string) => chat.addToolOutput({ tool: 'x' as never, toolCallId, output: 'yes' as never })
  await chat.sendMessage({ text: 'I want my money.' }, { body: { tools: [plainTool('to_billing')] } })
  await answer('to_billing')
  await chat.sendMessage(undefined, { body: { tools: [plainTool('refund')] } })
  await answer('refund~1')
  await chat.sendMessage(undefined, { body: {} })
  expect(harness.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
    ['to_billing'],
    ['refund'],
    ['refund'],
  ])
  const messages = await expectJson<{ parts: { type: string }[] }[]>(harness, 200, 'GET', '/v1/chat/talk')
  const calls = messages.flatMap(({ parts }) => parts.filter(({ type }) => type === 'dynamic-tool'))
  expect(calls).toMatchObject([{ toolName: 'to_billing' }, { toolName: 'refund' }])
  expect(JSON.stringify(calls)).not.toContain('providerExecuted')
})
