/* Evidence, replay: `GET …/context` shows the next request exactly as the model server receives it. */
import { afterEach, describe, expect, it } from 'vitest'
import { createModels } from '../../../../functions/adapters/models/models.ts'
import { startOpenAiServer } from '../../../model-server/openai-server.ts'
import type { OpenAiServer, OpenAiStep } from '../../../model-server/openai-server.ts'
import { makeTool } from '../../../agent/harness.ts'
import { openHttpHarness } from '../../harness.ts'
import type { HttpHarness } from '../../harness.ts'

let harness: HttpHarness
let server: OpenAiServer | undefined
afterEach(async () => {
  await harness.close()
  await server?.close()
  server = undefined
})

const completion = (text: string): OpenAiStep => ({ completion: { parts: [{ type: 'text', text }] } })
const call: OpenAiStep = {
  completion: { parts: [{ type: 'tool_call', id: 'c1', name: 'look', arguments: '{"a": 1.0}' }] },
}
const look = makeTool('look', async () => ({ text: 'a result' }))
const consolidation = { threshold: 3, keepRecentRatio: 0.5 }

/** Opens the program with a model that a local Chat Completions server provides. */
async function open(script: readonly OpenAiStep[], policies = {}, tools = [look]): Promise<void> {
  const started = await startOpenAiServer(script)
  server = started
  const models = createModels({ settings: { server: { baseUrl: started.baseUrl } } })
  const change = <Ports extends object>(ports: Ports): Ports => ({
    ...ports,
    models: { open: async () => models.open('openai-compatible/test') },
  })
  harness = await openHttpHarness({ tools, change, policies })
  await harness.send('POST', '/v1/sessions', { id: 's1' })
}

const say = (content: unknown): Promise<Response> => harness.send('POST', '/v1/sessions/s1/messages', { content })
const context = async (query = ''): Promise<Record<string, unknown>> =>
  (await (await harness.send('GET', `/v1/sessions/s1/context${query}`)).json()) as Record<string, unknown>
const sent = () => server?.bodies().at(-1)?.messages ?? []

describe('GET …/context', () => {
  it('equals the next request to the model, except for the system message and the new input', async () => {
    await open(
      [
        completion('first'),
        call,
        completion('second'),
        completion('so far'),
        completion('third'),
        completion('fourth'),
      ],
      {
        consolidation,
      },
    )
    const seen = await context()
    expect(seen).toMatchObject({
      object: 'context',
      agent: 'default',
      model: 'script/ed',
      instructions: 'Be brief.',
      messages: [],
      tools: ['look'],
      context_tokens: 200_000,
      summary: null,
      omitted: { messages: 0 },
    })
    for (const input of ['one', 'two', 'three']) {
      const { messages } = await context()
      await say(input)
      const first = server?.bodies().findLast((body) => body.messages.at(-1)?.content === input)
      if (input !== 'three') expect(first?.messages.slice(1, -1)).toEqual(messages)
    }
    const { messages, summary } = await context()
    expect(summary).toMatchObject({ object: 'summary', text: 'so far', messages: 3 })
    await say('four')
    expect(sent().slice(1, -1)).toEqual(messages)
    expect((messages as { content: string }[])[0]?.content).toBe(
      '<conversation_summary>\nso far\n</conversation_summary>',
    )
  })

  it('has the narrow tool names that the model server accepts', async () => {
    const step: OpenAiStep = {
      completion: { parts: [{ type: 'tool_call', id: 'c1', name: 'look-up', arguments: '{}' }] },
    }
    const refusal: OpenAiStep = { status: 400, body: { error: { message: 'no' } } }
    const tools = [makeTool('look-up', async () => ({ text: 'a result' }))]
    await open([step, refusal, completion('done'), completion('more')], { consolidation: false }, tools)
    await say('one')
    const { messages, tools: shown, mapped_tools: mapped } = await context()
    await say('two')
    const names = server
      ?.bodies()
      .at(-1)
      ?.tools?.map((tool) => tool.function.name)
    expect([shown, mapped]).toEqual([names, [{ name: names?.[0], original_name: 'look-up' }]])
    const nameIn = (list: unknown) =>
      (list as { tool_calls?: { function: { name: string } }[] }[]).flatMap(({ tool_calls: calls = [] }) =>
        calls.map((made) => made.function.name),
      )
    expect(nameIn(sent())).toEqual([expect.stringMatching(/^look_up_/)])
    expect(nameIn(messages)).toEqual(nameIn(sent()))
  })

  it('shows an image as a link to its bytes', async () => {
    await open([{ completion: { parts: [{ type: 'tool_call', id: 'c', name: 'ask', arguments: '{}' }] } }])
    const data = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
    const content = [
      { type: 'text', text: 'see' },
      { type: 'image', media_type: 'image/png', data },
    ]
    const tools = [{ name: 'ask', description: 'asks', parameters: { type: 'object' } }]
    await harness.send('POST', '/v1/sessions/s1/messages', { content, tools })
    const { messages } = await context()
    const [input, , waiting] = messages as { content: { image_url?: { url: string } }[] | string }[]
    const url = Array.isArray(input?.content) ? (input.content[1]?.image_url?.url ?? '') : ''
    expect(url).toMatch(/^\/v1\/sessions\/s1\/messages\/[0-9A-Z]{26}\/output\?part=/)
    expect((await harness.send('GET', url)).headers.get('content-type')).toBe('image/png')
    expect(waiting?.content).toBe('[waiting for an answer]')
  })

  it('refuses runs that are not active, and unknown sessions and runs', async () => {
    await open([completion('first')])
    const { id } = (await (await say('one')).json()) as { id: string }
    const refused = await harness.send('GET', `/v1/sessions/s1/context?run=${id}`)
    expect(refused.status).toBe(409)
    expect(await refused.json()).toMatchObject({ type: 'urn:tooltrail:problem:run_not_active' })
    expect((await harness.send('GET', '/v1/sessions/s1/context?run=01ARZ3NDEKTSV4RRFFQ69G5FAV')).status).toBe(404)
    expect((await harness.send('GET', '/v1/sessions/s1/context?run=x')).status).toBe(400)
    expect((await harness.send('GET', '/v1/sessions/s2/context')).status).toBe(404)
  })
})

describe('POST …/consolidate', () => {
  const consolidate = (headers = {}): Promise<Response> =>
    harness.send('POST', '/v1/sessions/s1/consolidate', undefined, headers)

  it('creates a summary, keeps the log, and returns the same summary for a repeated idempotency key', async () => {
    await open([completion('first'), completion('second'), completion('so far'), completion('third')], {
      consolidation: { threshold: 100, keepRecentRatio: 0 },
    })
    await say('one')
    await say('two')
    const made = await consolidate({ 'idempotency-key': 'k' })
    expect(made.status).toBe(200)
    const summary = await made.json()
    expect(summary).toMatchObject({
      object: 'summary',
      text: 'so far',
      messages: 3,
      model: 'openai-compatible/scripted',
    })
    expect(await (await consolidate({ 'idempotency-key': 'k' })).json()).toEqual(summary)
    expect(await (await harness.send('GET', '/v1/sessions/s1')).json()).toMatchObject({ summary })
    expect(await (await harness.send('GET', '/v1/sessions/s1/messages')).json()).toMatchObject({ data: { length: 4 } })
    const found = await (await harness.send('GET', '/v1/search?q=one')).json()
    expect(found).toMatchObject({ data: [{ role: 'user' }] })
    const again = await consolidate()
    expect(again.status).toBe(409)
    expect(await again.json()).toMatchObject({ type: 'urn:tooltrail:problem:nothing_to_consolidate' })
  })

  it('responds with 502 when the model returns no summary, stores none, and counts the usage', async () => {
    await open([completion('first'), completion('second'), completion(' ')], {
      consolidation: { threshold: 4, keepRecentRatio: 0 },
    })
    await say('one')
    await say('two')
    const failed = await consolidate()
    expect(failed.status).toBe(502)
    expect(await failed.json()).toMatchObject({ type: 'urn:tooltrail:problem:summary_failed' })
    const session = (await (await harness.send('GET', '/v1/sessions/s1')).json()) as { summary?: object; usage: object }
    expect(session.summary).toBeUndefined()
    expect(session.usage).toMatchObject({ by_agent: { summary: { input_tokens: 120 } } })
  })

  it('needs a key with the scope write', async () => {
    await open([])
    expect((await consolidate(await harness.key({ scopes: ['read'] }))).status).toBe(403)
  })
})
