import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createModels } from '../../functions/adapters/models/models.ts'
import type { Json } from '../../functions/domain/json.ts'
import { compactJson } from '../../functions/log/json/json-spans.ts'
import { PROVIDERS, type Provider } from '../adapters/models/providers.ts'
import { makeTool } from '../agent/harness.ts'
import { jsonText } from '../generators/json-text.ts'
import { fc } from '../generators/seeded.ts'
import { startRecordingServer, type RecordingServer } from '../model-server/recording-server.ts'
import type { ScriptedCompletion, ScriptedPart } from '../model-server/scripted-completion.ts'
import { openHttpHarness, type HttpHarness } from './harness.ts'

/*
 * Numbers that JavaScript would round or respell stay unchanged: from a body to the log, and from the log to requests, lists,
 * exports, forks, search and chats.
 */

const WIRES = new Map(PROVIDERS.map((provider) => [wireOf(provider), provider]))
function wireOf({ name }: Provider): string {
  const wires: Readonly<Record<string, string>> = {
    'openai-compatible': 'chat',
    openai: 'responses',
    anthropic: 'messages',
  }
  return wires[name] ?? name
}

/** Texts of JSON values with numbers of any spelling, the same in every execution. */
const VALUES = fc.sample(jsonText, { numRuns: 40, seed: 7 })
const ARGUMENTS = `{"id":9007199254740993,"total":10.00,"at":-0,"rate":1E400,"values":[${VALUES.join(',')}]}`
const compact = (text: string): string => compactJson(text, { from: 0, to: text.length })
/** Output of a tool, in one line, as imports require. */
const OUTPUT = `{"paid":9007199254740995,"fee":0.50,"values":[${VALUES.join(',')}]}`.replaceAll('\n', ' ')
const PARAMETERS = '{"type":"object","properties":{"n":{"maximum":18446744073709551615,"multipleOf":1.0}}}'

let harness: HttpHarness
let server: RecordingServer
let completions: ScriptedCompletion[] = []
const inputs: Json[] = []

beforeAll(async () => {
  server = await startRecordingServer(({ path }) => {
    const wire = path.endsWith('/chat/completions')
      ? 'chat'
      : path.endsWith('/responses')
        ? 'responses'
        : path.endsWith('/messages')
          ? 'messages'
          : 'bedrock'
    const provider = WIRES.get(wire) ?? PROVIDERS[0]
    if (provider === undefined) throw new Error(`no provider for ${path}`)
    const completion = completions.shift() ?? { parts: [{ type: 'text', text: 'done' }] }
    return { headers: { 'content-type': provider.contentType }, frames: provider.frames(completion) }
  })
  const settings = Object.assign({}, ...PROVIDERS.map((provider) => provider.settings(server.url))) as object
  harness = await openHttpHarness({
    tools: [makeTool('pay', async (input) => ({ text: String(inputs.push(input)) }))],
    agents: [...WIRES].map(([name, { model }]) => ({ name, model })),
    change: (ports) => ({ ...ports, models: createModels({ settings }) }),
  })
})
afterAll(async () => {
  await harness.close()
  await server.close()
})

const call = (name: string, text = ARGUMENTS): ScriptedPart => ({
  type: 'tool_call',
  id: 'call_1',
  name,
  arguments: text,
})

async function textOf(
  method: string,
  path: string,
  body?: string,
  headers: Record<string, string> = {},
): Promise<string> {
  const response = await harness.send(method, path, body, { prefer: 'wait=60', ...headers })
  const text = await response.text()
  expect(response.ok, `${method} ${path}: ${text}`).toBe(true)
  return text
}

async function newSession(agent: string, more = ''): Promise<string> {
  const { id } = JSON.parse(await textOf('POST', '/v1/sessions', `{"agent":"${agent}"${more}}`)) as { id: string }
  return id
}

/** The last request to the model. */
const lastRequest = (): string => server.requests.at(-1)?.body ?? ''

/** Arguments in the form of a wire: a text of JSON, or a JSON value. */
const onWire = (wire: string, text: string): string =>
  wire === 'chat' || wire === 'responses' ? JSON.stringify(text) : compact(text)

describe.each([...WIRES.keys()])('%s', (wire) => {
  test('field/19/model-arguments · sqlite: arguments of a model keep their numbers in every read, export and request', async () => {
    const session = await newSession(wire)
    completions = [{ parts: [call('pay')] }]
    await textOf('POST', `/v1/sessions/${session}/messages`, '{"content":"pay"}')
    // A tool gets its input as JavaScript numbers, which may be rounded.
    expect(inputs.at(-1)).toMatchObject({ id: 9_007_199_254_740_992, total: 10, rate: Infinity })
    expect(lastRequest()).toContain(onWire(wire, ARGUMENTS))
    const raw = JSON.stringify(ARGUMENTS)
    const at = `/v1/sessions/${session}`
    for (const path of ['/messages', '/messages?format=openai', '/export', '/export?format=openai'])
      expect(await textOf('GET', `${at}${path}`), path).toContain(raw)
    expect(await textOf('GET', `${at}/export?format=markdown`)).toContain('9007199254740993')
    expect(await textOf('GET', `/v1/chat/${session}`)).toContain(`"input":${compact(ARGUMENTS)}`)
    const hits = JSON.parse(await textOf('GET', '/v1/search?q=9007199254740993&limit=50')) as {
      data: { snippet: string; session_id: string }[]
    }
    expect(hits.data.find(({ session_id: id }) => id === session)?.snippet).toMatch(
      /id=.*9007199254740993.*total=10\.00/su,
    )
    const copy = await newSession(wire)
    await textOf('POST', `/v1/sessions/${copy}/import`, await textOf('GET', `${at}/export`), {
      'content-type': 'application/x-ndjson',
    })
    expect(await textOf('GET', `/v1/sessions/${copy}/messages?format=openai`)).toContain(raw)
    await textOf('POST', `/v1/sessions/${copy}/messages`, '{"content":"again"}')
    expect(lastRequest()).toContain(onWire(wire, ARGUMENTS))
  })

  test('field/19/client-tools · sqlite: schemas and results of a client keep their numbers', async () => {
    const session = await newSession(wire)
    completions = [{ parts: [call('order')] }]
    const tools = `[{"name":"order","description":"Orders.","parameters":${PARAMETERS}}]`
    const run = JSON.parse(
      await textOf('POST', `/v1/sessions/${session}/messages`, `{"content":"order","tools":${tools}}`),
    ) as { id: string }
    expect(lastRequest()).toContain(PARAMETERS)
    const results = `{"results":[{"tool_call_id":"call_1","output":${OUTPUT}}]}`
    await textOf('POST', `/v1/sessions/${session}/runs/${run.id}/tool-results`, results)
    expect(lastRequest()).toContain(PARAMETERS)
    expect(lastRequest()).toContain(JSON.stringify(compact(OUTPUT)))
    expect(await textOf('GET', `/v1/sessions/${session}/messages?format=openai`)).toContain(
      JSON.stringify(compact(OUTPUT)),
    )
  })

  test('field/19/chat-outputs · sqlite: outputs that useChat sends keep their numbers', async () => {
    const chat = `chat-${wire}`
    completions = [{ parts: [call('order')] }]
    const tools = `[{"name":"order","description":"Orders.","parameters":${PARAMETERS}}]`
    const user = '{"id":"m1","role":"user","parts":[{"type":"text","text":"order"}]}'
    const first = await textOf(
      'POST',
      '/v1/chat',
      `{"id":"${chat}","agent":"${wire}","sdk":7.0,"messages":[${user}],"tools":${tools}}`,
    )
    expect(first).toContain(`"input":${compact(ARGUMENTS)}`)
    const [, toolCallId] = /"toolCallId":"([^"]+)"/u.exec(first) ?? []
    const [, runId] = /"messageId":"([^"]+)"/u.exec(first) ?? []
    const part = `{"type":"dynamic-tool","toolCallId":"${toolCallId}","state":"output-available","output":${OUTPUT}}`
    const answer = `{"id":"${runId}","role":"assistant","parts":[${part}]}`
    await textOf('POST', '/v1/chat', `{"id":"${chat}","agent":"${wire}","messages":[${user},${answer}]}`)
    expect(lastRequest()).toContain(JSON.stringify(compact(OUTPUT)))
  })
})

test('field/19/metadata · sqlite: metadata of a session and its copy keep their numbers, and a filter matches exact numbers', async () => {
  const metadata = '{"order":9007199254740993,"total":10.00}'
  const session = await newSession('chat', `,"metadata":${metadata}`)
  expect(await textOf('GET', `/v1/sessions/${session}`)).toContain(metadata)
  expect(await textOf('GET', `/v1/sessions/${session}/export`)).toContain(metadata)
  expect(await textOf('GET', '/v1/sessions?metadata.order=9007199254740993')).toContain(`"id":"${session}"`)
  expect(await textOf('GET', '/v1/sessions?metadata.order=9007199254740992')).not.toContain(`"id":"${session}"`)
  await textOf('POST', `/v1/sessions/${session}/messages`, '{"content":"hello"}')
  await textOf('POST', `/v1/sessions/${session}/fork`, '{"id":"forked"}')
  expect(await textOf('GET', '/v1/sessions/forked')).toContain(metadata)
})

test('field/19/native-import · sqlite: data and metadata of an import keep their numbers, and token counts are numbers', async () => {
  const session = await newSession('chat')
  const lines = [
    '{"role":"user","parts":[{"type":"text","text":"go"}],"metadata":{"order":9007199254740993}}',
    '{"role":"assistant","parts":[{"type":"tool_call","id":"c"}],"tool_calls":[{"id":"c","name":"pay","arguments":"{}"}],"usage":{"input_tokens":3.0}}',
    `{"role":"tool","tool_call_id":"c","status":"completed","duration_ms":1.50,"parts":[{"type":"text","text":"paid"},{"type":"data","data":${OUTPUT}}]}`,
  ]
  await textOf('POST', `/v1/sessions/${session}/import`, lines.join('\n'), { 'content-type': 'application/x-ndjson' })
  const json = await newSession('chat')
  await textOf('POST', `/v1/sessions/${json}/import`, `{"format":"native","messages":[${lines.join(',')}]}`)
  for (const one of [session, json])
    for (const path of ['/messages', '/export']) {
      const text = await textOf('GET', `/v1/sessions/${one}${path}`)
      expect(text, path).toContain('{"order":9007199254740993}')
      expect(text, path).toContain(`"data":${compact(OUTPUT)}`)
      expect(text, path).toMatch(/"input_tokens":3[,}]/u)
    }
})

test('field/19/stateless-chat · chat · sqlite: two histories that differ beyond 2^53 are two sessions', async () => {
  const ask = async (id: string): Promise<string> => {
    const calls = [{ id: 'c1', type: 'function', function: { name: 'pay', arguments: `{"id": ${id}}` } }]
    const messages = [
      { role: 'user', content: 'pay' },
      { role: 'assistant', content: null, tool_calls: calls },
      { role: 'tool', tool_call_id: 'c1', content: 'paid' },
      { role: 'assistant', content: 'done' },
      { role: 'user', content: 'and now?' },
    ]
    const response = await harness.send('POST', '/openai/v1/chat/completions', { model: 'chat', messages })
    expect(response.status).toBe(200)
    await response.text()
    expect(lastRequest()).toContain(JSON.stringify(`{"id": ${id}}`))
    return response.headers.get('x-session-id') ?? ''
  }
  expect(await ask('9007199254740992')).not.toBe(await ask('9007199254740993'))
})
