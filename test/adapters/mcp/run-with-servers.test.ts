/* Evidence, api: A run keeps the tools of its MCP servers. A server that is down causes a warning. */
import { afterEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { createMcpToolRegistry } from '../../../functions/adapters/mcp/tool-registry.ts'
import type { Agent } from '../../../functions/domain/agent.ts'
import { textOf } from '../../../functions/domain/messages/message.ts'
import { DEFAULT_POLICIES } from '../../../functions/domain/agent.ts'
import { TooltrailError } from '../../../functions/domain/errors.ts'
import type { OutputStore } from '../../../functions/ports/output-store.ts'
import type { Tool, ToolRegistry } from '../../../functions/ports/tool.ts'
import { completionOf, openHarness } from '../../agent/harness.ts'
import type { Harness, Turn } from '../../agent/harness.ts'
import { connector, serverAt, startMcpServer } from './servers.ts'
import type { RunningServer } from './servers.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const AGENT: Agent = { name: 'default', model: 'script/ed', modelOptions: {}, tools: [], policies: DEFAULT_POLICIES }
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** Starts a server with tools of these names. It records each call. */
async function server(names: readonly string[], calls: string[] = []): Promise<RunningServer & { names: string[] }> {
  const now = [...names]
  const running = await startMcpServer((one) => {
    for (const name of now)
      one.registerTool(
        name,
        {
          description: `Does ${name}.`,
          inputSchema: z.object({ what: z.string() }),
          annotations: { readOnlyHint: name === 'look' },
        },
        ({ what }) => {
          calls.push(`${name} ${what}`)
          if (name === 'fail') return { isError: true, content: [{ type: 'text', text: `no ${what} today` }] }
          if (name === 'paint')
            return {
              content: [
                { type: 'text', text: 'painted' },
                { type: 'image', data: PNG.toString('base64'), mimeType: 'image/png' },
              ],
            }
          const sources = [{ title: 'The crate book', url: 'https://example.com/crates' }, 'no source']
          return { content: [{ type: 'text', text: `${name}: ${what}` }], structuredContent: { sources } }
        },
      )
  })
  closing.push(() => running.close())
  return { ...running, names: now }
}

/** Opens the loop with these servers. Each process opens its own connections. */
async function loop(mcp: NonNullable<Agent['mcp']>, script: readonly Turn[], tools: readonly Tool[] = []) {
  const hosts = mcp.map(({ url }) => new URL(url).host)
  const registry = (list: ToolRegistry, outputs: OutputStore) =>
    createMcpToolRegistry({ list, outputs, connect: connector(...hosts) })
  const harness = await openHarness({ script, tools, mcp, registry })
  closing.push(() => harness.close())
  return harness
}

const finish = async (harness: Pick<Harness, 'submit' | 'settled'>) => harness.settled(await harness.submit('go'))
const resultsOf = async ({ log }: Pick<Harness, 'log'>) =>
  (await log()).flatMap((message) => (message.role === 'tool' ? [{ ...message, text: textOf(message.parts) }] : []))
const declared = ({ requests }: Pick<Harness, 'requests'>) => requests.map(({ tools }) => tools.map(({ name }) => name))

const call = (name: string, what = 'it') => ({
  calls: [{ id: `call_${name}`, name, arguments: JSON.stringify({ what }) }],
})

describe('a run with MCP servers', () => {
  test('calls tools by server and tool name, with unchanged schemas', async () => {
    const calls: string[] = []
    const { url } = await server(['look', 'fail', 'paint'], calls)
    const harness = await loop(
      [serverAt(url, { name: 'shop' })],
      [call('shop__look', 'crates'), call('shop__fail'), call('shop__paint'), { text: 'done' }],
    )
    await finish(harness)
    const [first] = harness.requests
    expect(first?.tools.map(({ name }) => name)).toEqual(['shop__look', 'shop__fail', 'shop__paint'])
    expect(first?.tools[0]?.parameters).toMatchObject({
      type: 'object',
      properties: { what: { type: 'string' } },
      required: ['what'],
    })
    expect(calls).toEqual(['look crates', 'fail it', 'paint it'])
    const results = await resultsOf(harness)
    expect(results.map(({ status, text }) => [status, text])).toEqual([
      ['completed', 'look: crates'],
      ['error', 'error: no it today'],
      ['completed', expect.stringContaining('painted')],
    ])
    expect(results[0]?.parts[1]).toMatchObject({
      type: 'data',
      data: { sources: [{ title: 'The crate book' }, 'no source'] },
    })
    expect(harness.requests[1]?.messages.at(-1)?.parts).toEqual([
      { type: 'text', text: expect.stringContaining('look: crates') },
    ])
    expect(results[0]?.sources).toMatchObject([{ title: 'The crate book', url: 'https://example.com/crates' }])
    expect(harness.events.filter(({ type }) => type === 'warning')).toMatchObject([{ code: 'sources_dropped' }])
    expect(results[2]?.parts).toContainEqual(
      expect.objectContaining({ type: 'image', mediaType: 'image/png', bytes: PNG.length }),
    )
  })

  test('requests an approval only if the arguments fit the schema; other calls are returned to the model', async () => {
    const calls: string[] = []
    const { url } = await server(['order'], calls)
    const ask = (...args: string[]): Turn => ({
      calls: args.map((text) => ({ id: text, name: 'shop__order', arguments: text })),
    })
    const fitting = '{"what": "crates"}'
    const harness = await loop(
      [serverAt(url, { name: 'shop', needsApproval: true })],
      [ask('{"what": 7}', '{"what": ', ''), ask(fitting), { text: 'done' }],
    )
    const run = await harness.submit('go')
    expect(await harness.settled(run)).toMatchObject({ status: 'paused' })
    expect((await resultsOf(harness)).map(({ status, text }) => [status, text])).toEqual([
      [
        'error',
        expect.stringMatching(/^error: the arguments do not fit the schema of shop__order:\n.*- #\/what: .*type/s),
      ],
      ['error', 'error: the arguments are not valid JSON: {"what": '],
      ['error', expect.stringMatching(/what/)],
      ['waiting', ''],
    ])
    expect(calls).toEqual([])
    await harness.service.resolve(harness.session, run, [{ toolCallId: fitting, approve: true }], { here: true })
    expect(await harness.settled(run)).toMatchObject({ status: 'completed' })
    expect(calls).toEqual(['order crates'])
  })

  test('an unreachable server causes a warning, and its tools are missing', async () => {
    const up = await server(['look'])
    const down = await server(['look'])
    await down.close()
    const harness = await loop(
      [serverAt(down.url, { name: 'down' }), serverAt(up.url, { name: 'up' })],
      [{ text: 'done' }],
    )
    await finish(harness)
    expect(harness.requests[0]?.tools.map(({ name }) => name)).toEqual(['up__look'])
    const warnings = harness.events.filter(({ type }) => type === 'warning')
    expect(warnings).toMatchObject([
      { code: 'mcp_unavailable', detail: expect.stringMatching(/^MCP server down: its tools are absent: /) },
    ])
  })

  test('a call to a server that has shut down returns an error result', async () => {
    const { url, close } = await server(['look'])
    const gone: Turn = async function* () {
      await close()
      yield { type: 'completion', completion: completionOf(call('test__look')) }
    }
    const harness = await loop([serverAt(url)], [gone, { text: 'sorry' }])
    expect((await finish(harness)).status).toBe('completed')
    const [result] = await resultsOf(harness)
    expect([result?.status, result?.text]).toEqual(['error', expect.stringContaining('cannot be reached')])
  })

  test('has a fixed tool list, even in another process, although its servers offer other tools later', async () => {
    const calls: string[] = []
    const { url, names } = await server(['look', 'buy'], calls)
    const settings = serverAt(url, { name: 'shop', needsApproval: ['buy'] })
    const first = await loop([settings], [call('shop__buy')])
    const paused = await finish(first)
    expect(paused.status).toBe('paused')
    const [waiting] = await resultsOf(first)
    expect(waiting?.needs).toBe('approval')

    names.splice(0, 2, 'buy', 'sell')
    const second = first.another([{ text: 'bought' }, { text: 'next' }])
    const resolution = { toolCallId: 'call_shop__buy', approve: true } as const
    await second.service.resolve(second.session, paused.id, [resolution], { here: true })
    expect((await second.settled(paused.id)).status).toBe('completed')
    expect(calls).toEqual(['buy it'])
    expect(second.requests[0]?.tools).toEqual(first.requests[0]?.tools)
    await finish(second)
    expect(declared(second)).toEqual([
      ['shop__look', 'shop__buy'],
      ['shop__buy', 'shop__sell'],
    ])
  })

  test('the servers and the settings decide which calls may be repeated after a crash', async () => {
    const { url } = await server(['look', 'buy', 'pay'])
    const registry = createMcpToolRegistry({
      list: { open: async () => new Map() },
      outputs: { put: async () => undefined, read: async () => new Uint8Array() },
      connect: connector(new URL(url).host),
    })
    const mcp = [serverAt(url, { idempotent: ['pay'] })]
    const tools = await registry.open({ ...AGENT, mcp })
    expect([...tools.values()].map(({ name, idempotent }) => [name, idempotent])).toEqual([
      ['test__look', true],
      ['test__buy', false],
      ['test__pay', true],
    ])
  })

  test('concurrently started threads have the same tools, even if their servers change the lists meanwhile', async () => {
    const lists = [['look'], ['buy']]
    const objects = new Map<string, Uint8Array>()
    const opening = createMcpToolRegistry({
      list: { open: async () => new Map() },
      outputs: {
        async put(_key, name, bytes) {
          if (objects.has(name)) throw new Error(`${name} holds other bytes`)
          objects.set(name, bytes)
        },
        async read(_key, name) {
          const bytes = objects.get(name)
          if (bytes === undefined) throw new TooltrailError('output_not_found', name)
          return bytes
        },
      },
      connect: () => ({
        list: async () => {
          const tools = (lists.shift() ?? []).map((name) => ({ name, inputSchema: { type: 'object' } }))
          return { tools, refused: [] }
        },
        call: () => Promise.reject(new Error('nobody calls')),
      }),
    })
    const run = { tenant: 'default', session: 's1', runId: '01JD2Q8N4T6W8Y0A2C4E6G8J0K', as: 'continues' } as const
    const open = () => opening.open({ ...AGENT, mcp: [serverAt('https://x')] }, { ...run, absent: () => undefined })
    const [one, two] = await Promise.all([open(), open()])
    expect([...one.keys()]).toEqual([...two.keys()])
    expect(one.size).toBe(1)
  })

  test('a cancel reaches the server', async () => {
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    const { promise: cancelled, resolve: cancel } = Promise.withResolvers<void>()
    const running = await startMcpServer((one) => {
      one.registerTool('wait', { inputSchema: z.object({}) }, async (_input, { mcpReq: { signal } }) => {
        ask()
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        cancel()
        return { content: [] }
      })
    })
    closing.push(() => running.close())
    const harness = await loop([serverAt(running.url)], [{ calls: [{ name: 'test__wait', arguments: '{}' }] }])
    const runId = await harness.submit('go')
    await asked
    await harness.service.cancel(harness.key, runId)
    expect((await harness.settled(runId)).status).toBe('cancelled')
    await cancelled
  })
})

test('progress extends the timeout of a call; a silent call times out', async () => {
  const slow = await startMcpServer((one) => {
    for (const name of ['tells', 'silent'])
      one.registerTool(name, { inputSchema: z.object({ what: z.string() }) }, async (_input, { mcpReq }) => {
        const progressToken = mcpReq._meta?.progressToken
        for (let progress = 1; progress <= 6; progress++) {
          await new Promise((resolve) => setTimeout(resolve, 400))
          if (name === 'tells' && progressToken !== undefined)
            await mcpReq.notify({
              method: 'notifications/progress',
              params: { progressToken, progress, total: 6, message: `step ${progress}` },
            })
        }
        return { content: [{ type: 'text', text: 'done' }] }
      })
  })
  closing.push(() => slow.close())
  const mcp = [serverAt(slow.url, { timeoutMs: 1_500 })]
  const harness = await loop(mcp, [call('test__tells'), call('test__silent'), { text: 'ok' }])
  await finish(harness)
  expect(await resultsOf(harness)).toMatchObject([
    { status: 'completed', text: 'done' },
    { status: 'error', text: 'error: test__silent did not finish within 1.5 s' },
  ])
  const reported = harness.events.filter(({ type }) => type.startsWith('tool_call.') && type !== 'tool_call.delta')
  expect(reported.map(({ type }) => type)).toEqual([
    'tool_call.started',
    ...reported.slice(1, -3).map(() => 'tool_call.progress'),
    'tool_call.completed',
    'tool_call.started',
    'tool_call.completed',
  ])
  expect(reported[1]).toMatchObject({ toolName: 'test__tells', progress: 1, total: 6, text: 'step 1' })
  expect(reported.slice(1, -3).length).toBeGreaterThan(1)
})
