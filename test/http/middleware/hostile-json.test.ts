/* Evidence, limits: A hostile JSON body blocks the event loop for about 0.1 s. Normal bodies of 4 MB are accepted. */
/* Evidence, limits: An import needs bounded memory, whatever its messages, calls and members are. */
/* Evidence, limits: An import finds a result's call quickly, however many calls are open. The import yields to other work. */
import { afterEach, expect, test } from 'vitest'
import type { Json } from '../../../functions/domain/json.ts'
import { expectJson, openHttpHarness } from '../harness.ts'
import type { HttpHarness } from '../harness.ts'
import { longestTurn } from '../../processor-time.ts'

let harness: HttpHarness
afterEach(() => harness.close())

interface Problem {
  readonly detail: string
  readonly errors?: readonly { readonly path: string; readonly message: string }[]
}

const names = (count: number): Json => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, at]))
const TOO_MANY = names(250_000)

test.each<[string, string, Json]>([
  ['a session', '/v1/sessions', { metadata: TOO_MANY }],
  ['an input', '/v1/sessions/s/messages', { content: 'x', metadata: TOO_MANY }],
  ['tool results', '/v1/sessions/s/runs/01JD2Q8N4T6W8Y0A2C4E6G8J0P/tool-results', { results: [{ output: TOO_MANY }] }],
  ['an import', '/v1/sessions/s/import', { format: 'native', messages: [TOO_MANY] }],
  ['useChat', '/v1/chat', { id: 'u', messages: [TOO_MANY] }],
  ['AG-UI', '/v1/ag-ui/default', { threadId: 't', runId: 'r', messages: [], state: TOO_MANY }],
  ['MCP', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list', params: TOO_MANY }],
])('%s of 250,000 properties is rejected before it is parsed', async (_name, path, body) => {
  harness = await openHttpHarness()
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const text = JSON.stringify(body)
  await harness.send('POST', '/v1/sessions', { metadata: {} })
  const turn = await longestTurn(async () => {
    const headers = { 'content-type': 'application/json' }
    const response = await harness.program.app.request(`http://127.0.0.1${path}`, {
      method: 'POST',
      body: text,
      headers,
    })
    expect(response.status).toBe(400)
    expect(((await response.json()) as Problem).detail).toBe('the body has more than 100,000 values')
  })
  expect(turn).toBeLessThan(200)
})

test('tools may have 20,000 values in total, and 1,000 costly patterns do not block other requests', async () => {
  harness = await openHttpHarness()
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const tool = (name: string, parameters: Json): Json => ({ name, description: '', parameters })
  const pattern = String.raw`\p{L}`.repeat(16)
  const tools = [tool('a', { pattern }), tool('b', { enum: Array.from({ length: 20_000 }, () => 0) })]
  const many = await expectJson<Problem>(harness, 400, 'POST', '/v1/sessions/s/messages', { content: 'x', tools })
  expect(many.errors).toEqual([{ path: 'body.tools', message: 'must have at most 20000 values in all' }])
  const properties = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [at, { pattern: `${at}${pattern}` }]))
  const turn = await longestTurn(async () => {
    const body = { content: 'x', tools: [tool('a', { properties })] }
    await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', body)
  })
  expect(turn).toBeLessThan(200)
})

test('other requests are served while 20,000 messages are imported from one body', async () => {
  harness = await openHttpHarness()
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const messages = Array.from({ length: 20_000 }, (_, at) => ({ role: 'user', content: `${at}` }))
  const turn = await longestTurn(() =>
    expectJson(harness, 200, 'POST', '/v1/sessions/s/import', { format: 'openai', messages }),
  )
  expect(turn).toBeLessThan(1_000)
})

test('an import with many empty lines yields to other requests, and too many such lines are rejected', async () => {
  harness = await openHttpHarness()
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const message = JSON.stringify({ role: 'user', content: 'x' })
  const bring = (status: number, lines: string): Promise<object> =>
    expectJson(harness, status, 'POST', '/v1/sessions/s/import?format=openai', lines, {
      'content-type': 'application/x-ndjson',
    })
  const turn = await longestTurn(async () => {
    for (const empty of ['\n', ' \r\n'])
      expect(await bring(200, `${empty.repeat(90_000)}${message}\n`)).toMatchObject({ messages: 1 })
    for (const empty of ['\n', '\t\n'])
      expect(await bring(400, `${message}${empty.repeat(400_000)}${message}`)).toMatchObject({
        detail: 'nothing was imported: more than 100,000 lines are empty',
      })
  })
  expect(turn).toBeLessThan(200)
})

test('lists with 90,000 wrong items, and metadata with 90,000 values, are rejected', async () => {
  harness = await openHttpHarness()
  const items = Array.from({ length: 90_000 }, () => ({}))
  const chat = await harness.send('POST', '/openai/v1/chat/completions', { model: 'default', messages: items })
  expect(chat.status).toBe(400)
  const input = await harness.send('POST', '/openai/v1/responses', { model: 'default', input: items })
  expect(input.status).toBe(400)
  const asked = { model: 'default', input: 'x', metadata: names(90_000) }
  const response = await harness.send('POST', '/openai/v1/responses', asked)
  expect(response.status).toBe(400)
  expect(await response.text()).toContain('at most 64 strings')
})

test('a valid body of 4 MB is accepted: an image, or a table as output', async () => {
  harness = await openHttpHarness({ script: [{ calls: [{ id: 'c', name: 'query' }] }, { text: 'Done.' }] })
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 's' })
  const tools = [{ name: 'query', description: '', parameters: { type: 'object' } }]
  const png = Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), Buffer.alloc(3_000_000, 7)])
  const image = { type: 'image', media_type: 'image/png', data: png.toString('base64') }
  await expectJson(harness, 200, 'POST', '/v1/sessions/s/messages', { content: [image], tools })
  const { data } = await expectJson<{ data: { id: string }[] }>(harness, 200, 'GET', '/v1/sessions/s/runs')
  const row = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`column_${at}`, `value ${at} of some words`]))
  const output = Array.from({ length: 9_900 }, () => row)
  const results = [{ tool_call_id: 'c', output }]
  const path = `/v1/sessions/s/runs/${data[0]?.id}/tool-results`
  expect(JSON.stringify({ results }).length).toBeGreaterThan(3_000_000)
  await expectJson(harness, 200, 'POST', path, { results })
})
