import { afterEach, expect, test } from 'vitest'
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
async function open(kind: Kind): Promise<void> {
  const tools = [{ ...lookup, needsApproval: kind === 'approved' }]
  const agents = kind === 'listed' ? [{ name: 'default', listsTools: true as const }] : []
  harness = await openHttpHarness({ script: CALL, tools, agents })
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
  ['Chat Completions', sendChat],
  ['Responses', sendResponses],
] as const)('%s: a client tool replaces another tool of its name, with a warning', async (_format, send) => {
  await open('all')
  expect((await send()).status).toBe(200)
  const [session] = (await harness.ports.sessions.list({ tenant: 'default', limit: 1 })).sessions
  const { runs } = await harness.ports.reader.runs(session ?? { tenant: '', session: '' }, { limit: 1 })
  expect(runs[0]).toMatchObject({ status: 'paused', notices: [{ code: 'server_tool_replaced' }, {}] })
})
