/* Evidence, limits: Hostile MCP servers cost bounded time and memory, and reach no internal address. */
/* Evidence, limits: Huge JSON and floods of messages, from MCP servers or Socket Mode, do not block other work. */
import { once } from 'node:events'
import { afterEach, describe, expect, test } from 'vitest'
import { createMcpToolRegistry } from '../../../functions/adapters/mcp/tool-registry.ts'
import { DEFAULT_POLICIES } from '../../../functions/domain/agent.ts'
import type { Agent, McpServer } from '../../../functions/domain/agent.ts'
import type { ToolContext, ToolOutput } from '../../../functions/ports/tool.ts'
import { connectorWith, reply, serverAt, startRawServer } from './servers.ts'
import type { Respond } from './servers.ts'
import { longestTurn } from '../../processor-time.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: 'object' }, ...more })
const oneTool: Respond = (message, response) => reply(response, message, { tools: [tool('look')] })

async function raw(respond: Respond) {
  const running = await startRawServer(respond)
  closing.push(() => running.close())
  return running
}

/** Opens the tools of an agent with these servers, and records its warnings. */
async function opened(mcp: readonly McpServer[], more: Parameters<typeof connectorWith>[0]) {
  const objects = new Map<string, Uint8Array>()
  const registry = createMcpToolRegistry({
    list: { open: async () => new Map() },
    outputs: {
      put: async (_key, name, bytes) => void objects.set(name, bytes),
      read: async (_key, name) => objects.get(name) ?? new Uint8Array(),
    },
    connect: connectorWith(more),
  })
  const agent: Agent = {
    name: 'default',
    model: 'script/ed',
    modelOptions: {},
    tools: [],
    policies: DEFAULT_POLICIES,
    mcp,
  }
  const warnings: string[] = []
  const run = { tenant: 'default', session: 's', runId: '01JD2Q8N4T6W8Y0A2C4E6G8J0K', as: 'begins' } as const
  const tools = await registry.open(agent, { ...run, absent: (detail) => void warnings.push(detail) })
  const execute = (name: string, ms = 20_000): Promise<ToolOutput> => {
    const context = { signal: AbortSignal.timeout(ms) } as unknown as ToolContext
    return tools.get(name)?.execute({}, context) ?? Promise.reject(new Error(`no tool ${name}`))
  }
  return { tools, warnings, execute, kept: [...objects.values()].reduce((sum, { length }) => sum + length, 0) }
}

/**
 * Limit of processor time. The time includes the generation of texts by the servers of this test, which share the event
 * loop.
 */
const PAUSE_MS = 1_000

describe('an MCP server with an unusual tool list', () => {
  test('provides only the first 128 tools of a huge list, and causes a warning', async () => {
    const { host, url } = await raw((message, response) =>
      reply(response, message, {
        tools: Array.from({ length: 2_000 }, (_, at) => tool(`tool_${at}`, { description: 'x'.repeat(500) })),
      }),
    )
    const { tools, warnings, kept } = await opened([serverAt(url)], { allowedHosts: [host] })
    expect(tools.size).toBe(128)
    expect(warnings).toEqual([
      expect.stringMatching(
        /^MCP server test: 1872 of its 2000 tools are absent, because the limit is 128 tools: "tool_128", .* and 1862 more$/,
      ),
    ])
    expect(kept).toBeLessThan(300_000)
  })

  test('loses its tools if the list has more bytes than the limit', async () => {
    const { host, url } = await raw((message, response) =>
      reply(response, message, { tools: [tool('look', { description: 'x'.repeat(3_000_000) })] }),
    )
    const { tools, warnings } = await opened([serverAt(url)], { allowedHosts: [host] })
    expect(tools.size).toBe(0)
    expect(warnings).toEqual([expect.stringMatching(/^MCP server test: its tools are absent: /)])
  })

  test('loses its tools if the list never ends', async () => {
    let pages = 0
    const { host, url } = await raw((message, response) =>
      reply(response, message, { tools: [tool(`tool_${++pages}`)], nextCursor: String(pages) }),
    )
    const { tools } = await opened([serverAt(url)], { allowedHosts: [host] })
    expect(tools.size).toBe(0)
    expect(pages).toBeLessThanOrEqual(20)
  })

  test('does not delay the run if the list never arrives', async () => {
    const { host, url } = await raw(() => undefined)
    const { tools, warnings } = await opened([serverAt(url)], { allowedHosts: [host], listMs: 200 })
    expect(tools.size).toBe(0)
    expect(warnings).toEqual(['MCP server test: its tools are absent: did not list its tools within 0.2 s'])
  })

  test('provides tools whose odd names are replaced by valid and stable names', async () => {
    const names = [
      'look',
      'look',
      'ein Würfel',
      'ein Wurfel?',
      '../../etc/passwd',
      '__proto__',
      '🎲',
      'x'.repeat(200),
      `${'x'.repeat(199)}y`,
    ]
    const { host, url } = await raw((message, response) =>
      reply(response, message, { tools: names.map((name) => tool(name)) }),
    )
    const first = await opened([serverAt(url)], { allowedHosts: [host] })
    const again = await opened([serverAt(url)], { allowedHosts: [host] })
    expect([...first.tools.keys()]).toEqual([...again.tools.keys()])
    expect(first.tools.size).toBe(8)
    for (const name of first.tools.keys()) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    expect([...first.tools.keys()].slice(0, 2)).toEqual([
      'test__look',
      expect.stringMatching(/^test__ein_W_rfel_[0-9a-f]{8}$/),
    ])
  })

  test('loses the tools whose schemas are nested too deeply', async () => {
    const deep = `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`
    const { host, url } = await raw((message, response) =>
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(
          `{"jsonrpc":"2.0","id":${message.id},"result":{"tools":[{"name":"look","inputSchema":{"type":"object","x":${deep}}}]}}`,
        ),
    )
    expect((await opened([serverAt(url)], { allowedHosts: [host] })).tools.size).toBe(0)
  })
})

describe('a call to a hostile MCP server', () => {
  const answering = (respond: Respond): Promise<{ host: string; url: string }> =>
    raw((message, response, request) =>
      message.method === 'tools/list' ? oneTool(message, response, request) : respond(message, response, request),
    )

  test('fails if the result exceeds its limit', async () => {
    const piece = Buffer.alloc(1024 * 1024, 'x')
    let closed = false
    const { host, url } = await answering(async (_message, response) => {
      response.setMaxListeners(0)
      response.on('close', () => (closed = true))
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{"jsonrpc":"2.0","x":"')
      for (let sent = 0; sent < 64 && !closed; sent++)
        if (!response.write(piece)) await Promise.race([once(response, 'drain'), once(response, 'close')])
      response.end()
    })
    const { execute } = await opened([serverAt(url)], { allowedHosts: [host] })
    await expect(execute('test__look')).rejects.toThrow(/sent more than the limit of 29360128 bytes/)
  })

  const blocks = (count: number): string => Array(count).fill('{"type":"text","text":"x"}').join(',')
  const resultOf = (id: number | undefined, content: string): string =>
    `{"jsonrpc":"2.0","id":${id},"result":{"content":[${content}]}}`

  test.each([
    ['JSON', 'application/json', (text: string) => text],
    ['an event', 'text/event-stream', (text: string) => `event: message\rdata: ${text}\r\r`],
    [
      'an event of many lines',
      'text/event-stream',
      (text: string) => `data: ${text.replaceAll('},', '},\r\ndata:')}\r\n\n`,
    ],
  ])('fails with a clear error for too many JSON values, and blocks no other work: %s', async (_, type, sent) => {
    const { host, url } = await answering((message, response) =>
      response.writeHead(200, { 'content-type': type }).end(sent(resultOf(message.id, blocks(900_000)))),
    )
    const { execute } = await opened([serverAt(url)], { allowedHosts: [host] })
    const longest = await longestTurn(() =>
      expect(execute('test__look')).rejects.toThrow(
        /^.*127\.0\.0\.1:\d+ sent (?:(?:JSON|an event) that has more than 100,000 values|an event of more than 100,000 lines)/,
      ),
    )
    expect(longest).toBeLessThan(PAUSE_MS)
  })

  test('blocks other work only briefly if the result has the maximum number of JSON values', async () => {
    const { host, url } = await answering((message, response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(resultOf(message.id, blocks(33_000))),
    )
    const { execute } = await opened([serverAt(url)], { allowedHosts: [host] })
    const longest = await longestTurn(async () => expect((await execute('test__look')).text).toHaveLength(65_999))
    expect(longest).toBeLessThan(PAUSE_MS)
  })

  test.each([
    ['events', `data: {"jsonrpc":"2.0","method":"notifications/x","params":{"x":[${Array(90).fill(0).join()}]}}\n\n`],
    ['comments', ':\n'],
    ['lines that end nothing', '\n'],
    ['lines of one event', 'data:\n'],
  ])('fails if the server floods the stream with %s', async (_, piece) => {
    const { host, url } = await answering(async (_message, response) => {
      const pieces = Buffer.from(piece.repeat(Math.ceil(65_536 / piece.length)))
      response.on('error', () => undefined)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      while (!response.destroyed)
        if (!response.write(pieces)) await Promise.race([once(response, 'drain'), once(response, 'close')])
    })
    const { execute } = await opened([serverAt(url)], { allowedHosts: [host] })
    const longest = await longestTurn(() =>
      expect(execute('test__look')).rejects.toThrow(/a stream of more than|an event of more than|sent more than/),
    )
    expect(longest).toBeLessThan(PAUSE_MS)
  })

  test('fails when it is aborted during an endless stream, and closes the connection', async () => {
    const { promise: closed, resolve: close } = Promise.withResolvers<void>()
    const { host, url } = await answering((_message, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const timer = setInterval(() => response.write(': still here\n\n'), 5)
      response.on('close', () => {
        clearInterval(timer)
        close()
      })
    })
    const { execute } = await opened([serverAt(url)], { allowedHosts: [host] })
    await expect(execute('test__look', 300)).rejects.toThrow()
    await closed
  })

  test('fails if the server redirects elsewhere, and the target gets no request', async () => {
    let asked = 0
    const inside = await raw((message, response) => {
      asked++
      reply(response, message, { content: [{ type: 'text', text: 'secret' }] })
    })
    const { host, url } = await answering((_message, response) =>
      response.writeHead(307, { location: inside.url }).end(),
    )
    const { execute } = await opened([serverAt(url)], { allowedHosts: [host, inside.host] })
    await expect(execute('test__look')).rejects.toThrow()
    expect(asked).toBe(0)
  })

  test.each([
    ['HTML', 'text/html', '<html>'],
    ['no JSON', 'application/json', '{"jsonrpc":'],
  ])('fails if the server responds with %s', async (_, type, body) => {
    const { host, url } = await answering((message, response) =>
      response.writeHead(200, { 'content-type': type }).end(body.replace('"id":1', `"id":${message.id}`)),
    )
    const { execute } = await opened([serverAt(url)], { allowedHosts: [host] })
    await expect(execute('test__look')).rejects.toThrow()
  })

  test('quotes only part of a very long error message', async () => {
    const { host, url } = await answering((message, response) =>
      reply(response, message, { isError: true, content: [{ type: 'text', text: 'no '.repeat(100_000) }] }),
    )
    const { execute } = await opened([serverAt(url)], { allowedHosts: [host] })
    const said = await execute('test__look').then(JSON.stringify, String)
    expect(said.length).toBeLessThan(20_100)
  })
})

describe('the address guard', () => {
  test.each([
    ['http://127.0.0.1:1/mcp', 'must be https'],
    ['https://127.0.0.1:1/mcp', 'its address is not a public one'],
    ['https://[::1]:1/mcp', 'its address is not a public one'],
    ['https://169.254.169.254/mcp', 'its address is not a public one'],
    ['https://inside.example/mcp', 'its address is not a public one'],
  ])('sends no request to %s', async (url, reason) => {
    const lookup = ((_name: string, _options: object, done: (error: null, found: object[]) => void) =>
      done(null, [{ address: '10.0.0.7', family: 4 }])) as never
    const { tools, warnings } = await opened([serverAt(url)], { allowedHosts: [], lookup })
    expect(tools.size).toBe(0)
    expect(warnings).toEqual([expect.stringContaining(reason)])
  })
})
