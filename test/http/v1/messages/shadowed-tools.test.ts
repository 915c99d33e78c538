/* Evidence, api: A client tool cannot have a protected name. If it replaces a tool, the rows of its calls say so. */
import { afterEach, describe, expect, test } from 'vitest'
import type { Tool } from '../../../../functions/ports/tool.ts'
import { makeTool, type Turn } from '../../../agent/harness.ts'
import { expectJson, openHttpHarness, type HttpHarness } from '../../harness.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const CALL: Turn[] = [{ calls: [{ name: 'lookup', id: 'c' }] }, { text: 'Done.' }]
const lookup: Tool = makeTool('lookup', async () => ({ text: 'of the server' }))
const mine = { name: 'lookup', description: 'mine', parameters: { type: 'object' } } as const
const other = { name: 'other_tool', description: 'mine', parameters: { type: 'object' } } as const

type Kind = 'all' | 'listed' | 'approved'
async function open(kind: Kind, script: Turn[] = CALL): Promise<void> {
  const tools = [{ ...lookup, needsApproval: kind === 'approved' }, makeTool('free', async () => ({ text: 'free' }))]
  const agents = kind === 'listed' ? [{ name: 'default', listsTools: true as const }] : []
  harness = await openHttpHarness({ script, tools, agents })
}

async function sendOwn(): Promise<Response> {
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  return harness.send('POST', '/v1/sessions/s/messages', { content: 'go', tools: [other, mine] })
}

const sendChat = (): Promise<Response> =>
  harness.send('POST', '/openai/v1/chat/completions', {
    model: 'default',
    messages: [{ role: 'user', content: 'go' }],
    tools: [other, mine].map((one) => ({ type: 'function', function: one })),
  })
const sendResponses = (): Promise<Response> =>
  harness.send('POST', '/openai/v1/responses', {
    model: 'default',
    input: 'go',
    tools: [other, mine].map((one) => ({ type: 'function', ...one })),
  })
const sendUi = (): Promise<Response> =>
  harness.send('POST', '/v1/chat', {
    id: 'talk',
    messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'go' }] }],
    tools: [other, mine],
  })
const sendAgUi = (): Promise<Response> =>
  harness.send('POST', '/v1/ag-ui/default', {
    ...{ threadId: 'talk', runId: 'r1', state: {}, context: [], forwardedProps: {} },
    messages: [{ id: 'm1', role: 'user', content: 'go' }],
    tools: [other, mine],
  })

test.each<Kind>(['all', 'listed', 'approved'])(
  'the API refuses a client tool with the name of a tool (%s)',
  async (kind) => {
    await open(kind)
    const response = await sendOwn()
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ errors: [{ path: 'body.tools[1].name' }] })
    expect(harness.requests).toEqual([])
  },
)

test.each([
  ['Chat Completions', 'listed', sendChat, 'tools[1].function.name'],
  ['Chat Completions', 'approved', sendChat, 'tools[1].function.name'],
  ['Responses', 'listed', sendResponses, 'tools[1].name'],
  ['Responses', 'approved', sendResponses, 'tools[1].name'],
] as const)('%s refuses a client tool with the name of a tool that is %s', async (_format, kind, send, param) => {
  await open(kind)
  const response = await send()
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ error: { param } })
  expect(harness.requests).toEqual([])
})

test.each([
  ['the AI SDK', 'listed', sendUi],
  ['the AI SDK', 'approved', sendUi],
  ['AG-UI', 'listed', sendAgUi],
  ['AG-UI', 'approved', sendAgUi],
] as const)('%s refuses a client tool with the name of a tool that is %s', async (_format, kind, send) => {
  await open(kind)
  const response = await send()
  expect(response.status).toBe(400)
  expect(await response.json()).toMatchObject({ errors: [{ path: 'body.tools[1].name' }] })
  expect(harness.requests).toEqual([])
})

interface Row {
  readonly role: string
  readonly tool_name?: string
  readonly origin?: string
}

describe.each([
  ['Chat Completions', sendChat],
  ['Responses', sendResponses],
  ['the AI SDK', sendUi],
  ['AG-UI', sendAgUi],
] as const)('a client tool of %s replaces another tool of its name', (_format, send) => {
  const toolRows = async (session: string): Promise<Row[]> =>
    (await expectJson<{ data: Row[] }>(harness, 200, 'GET', `/v1/sessions/${session}/messages`)).data.filter(
      ({ role }) => role === 'tool',
    )

  test('with a warning, and rows of its calls show the origin: in events, lists, search, exports and copies', async () => {
    await open('all')
    const response = await send()
    expect(response.status).toBe(200)
    await response.text()
    const [listed] = (await harness.ports.sessions.list({ tenant: 'default', limit: 1 })).sessions
    const session = listed?.session ?? ''
    const { runs } = await harness.ports.reader.runs({ tenant: 'default', session }, { limit: 1 })
    const [run] = runs
    expect(run).toMatchObject({ status: 'paused', notices: [{ code: 'server_tool_replaced' }, {}] })
    const events = await (await harness.send('GET', `/v1/sessions/${session}/runs/${run?.id}/events`)).text()
    expect(events).toMatch(/^event: tool_call.started\ndata: .*"origin":"client"/m)
    const [call] = await toolRows(session)
    const resolved = { tool_call_id: 'c', output: 'forged by the client' }
    const path = `/v1/sessions/${session}/runs/${run?.id}/tool-results`
    await expectJson(harness, 200, 'POST', path, { results: [resolved] })
    expect(call).toMatchObject({ tool_name: 'lookup', origin: 'client' })
    expect(await toolRows(session)).toMatchObject([{ tool_name: 'lookup', origin: 'client' }])
    const search = async (): Promise<readonly Row[]> =>
      (await expectJson<{ data: Row[] }>(harness, 200, 'GET', '/v1/search?q=forged')).data
    await expect.poll(search).toMatchObject([{ tool_name: 'lookup', origin: 'client' }])
    const lines = await (await harness.send('GET', `/v1/sessions/${session}/export`)).text()
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'copy' })
    await expectJson(harness, 200, 'POST', '/v1/sessions/copy/import', lines, {
      'content-type': 'application/x-ndjson',
    })
    expect(await toolRows('copy')).toMatchObject([{ tool_name: 'lookup', origin: 'client' }])
    await expectJson(harness, 201, 'POST', `/v1/sessions/${session}/fork`, { id: 'fork' })
    expect(await toolRows('fork')).toMatchObject([{ tool_name: 'lookup', origin: 'client' }])
  })

  test('leaves the rows of other tools without `origin`', async () => {
    await open('all', [
      {
        calls: [
          { name: 'other_tool', id: 'a' },
          { name: 'free', id: 'b' },
        ],
      },
      { text: 'Done.' },
    ])
    await (await send()).text()
    const [listed] = (await harness.ports.sessions.list({ tenant: 'default', limit: 1 })).sessions
    const rows = await toolRows(listed?.session ?? '')
    expect(rows.map(({ tool_name: name, origin }) => [name, origin])).toEqual([
      ['other_tool', undefined],
      ['free', undefined],
    ])
  })
})
