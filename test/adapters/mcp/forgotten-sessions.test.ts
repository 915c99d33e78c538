/*
 * An MCP server forgets its sessions, as after a restart. The program reconnects. It repeats a call only if this is safe: the
 * server refused the call before the tool started, or the tool is idempotent.
 */
import { getRequestListener } from '@hono/node-server'
import { McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import { createMcpToolRegistry } from '../../../functions/adapters/mcp/tool-registry.ts'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import { DEFAULT_POLICIES } from '../../../functions/domain/agent.ts'
import type { ToolContext, Tools } from '../../../functions/ports/tool.ts'
import { connector, connectorWith, listen, serverAt } from './servers.ts'
import type { RunningServer } from './servers.ts'

/** Responds to a request with an unknown session. */
type Refuse = (session: string, id: unknown) => Response

interface SessionServer extends RunningServer {
  /** Names of the executed calls. */
  readonly executed: string[]
  forget(): void
  /** Executes the next call, forgets its session, and responds as if the session were unknown. */
  failAfterNext(): void
}

/** Starts a server with sessions, made with the official package. */
async function startSessionServer(refuse: Refuse): Promise<SessionServer> {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>()
  const executed: string[] = []
  let failsAfter = false

  async function introduce(): Promise<WebStandardStreamableHTTPServerTransport> {
    const server = new McpServer({ name: 'sessions', version: '1' })
    for (const name of ['look', 'buy'])
      server.registerTool(name, { inputSchema: z.object({}), annotations: { readOnlyHint: name === 'look' } }, () => {
        executed.push(name)
        return { content: [{ type: 'text', text: `${name} done` }] }
      })
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    })
    await server.connect(transport)
    return transport
  }

  const fetch = async (request: Request): Promise<Response> => {
    const body = request.method === 'POST' ? ((await request.clone().json()) as { id?: unknown; method?: string }) : {}
    const session = request.headers.get('mcp-session-id')
    if (session === null) {
      if (body.method === 'initialize') return (await introduce()).handleRequest(request)
      return Response.json({ jsonrpc: '2.0', id: body.id, error: { code: -32_601, message: 'Method not found' } })
    }
    const transport = sessions.get(session)
    if (transport === undefined) return refuse(session, body.id)
    const response = await transport.handleRequest(request)
    if (body.method !== 'tools/call' || !failsAfter) return response
    await response.text()
    failsAfter = false
    sessions.clear()
    return refuse(session, body.id)
  }
  const running = await listen(getRequestListener(fetch) as RequestListener)
  return { ...running, executed, forget: () => sessions.clear(), failAfterNext: () => (failsAfter = true) }
}

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const text =
  (status: number, words: (session: string) => string): Refuse =>
  (session) =>
    new Response(words(session), { status })
const rpcError =
  (message: string, code: number, status = 200): Refuse =>
  (_session, id) =>
    Response.json({ jsonrpc: '2.0', id, error: { code, message } }, { status })

/** Refusals before a tool starts. */
const REFUSED: readonly (readonly [variant: string, refuse: Refuse])[] = [
  ['404', text(404, () => '')],
  ['400-not-initialized', rpcError('Bad Request: Server not initialized', -32_000, 400)],
  ['400-session-header', text(400, () => 'Mcp-Session-Id is unknown')],
  ['401-session', text(401, () => 'Invalid session')],
  ['409-session', text(409, () => '{"error":"session expired"}')],
  ['410-session-id', text(410, (session) => `no ${session} here`)],
]
/** Refusals that may occur after a tool started. */
const UNCLEAR: readonly (readonly [variant: string, refuse: Refuse])[] = [
  ['400-without-words', text(400, () => 'Bad Request')],
  ['401-without-words', text(401, () => '')],
  ['400-other-words', text(400, () => 'the purchase of this session was booked, its receipt was not sent')],
  ['403-session', text(403, () => 'Session not found')],
  ['409-without-words', text(409, () => 'Conflict')],
  ['500-without-words', text(500, () => 'Internal Server Error')],
  ['500-session-id', text(500, (session) => `KeyError: '${session}'`)],
  ['error-inside-200', rpcError('Session not found', -32_001)],
  ['not-initialized-inside-200', rpcError('Received request before initialization was complete', -32_602)],
]

async function open(
  refuse: Refuse,
): Promise<{ server: SessionServer; tools: Tools; execute(name: string): Promise<string> }> {
  const server = await startSessionServer(refuse)
  closing.push(() => server.close())
  const registry = createMcpToolRegistry({
    list: { open: async () => new Map() },
    outputs: { put: async () => undefined, read: async () => new Uint8Array() },
    connect: connector(server.host),
  })
  const agent = { name: 'default', model: 'script/ed', modelOptions: {}, tools: [], policies: DEFAULT_POLICIES }
  const tools = await registry.open({ ...agent, mcp: [serverAt(server.url)] })
  const context = { tenant: 'default', signal: AbortSignal.timeout(20_000), progressed: () => undefined }
  const execute = async (name: string): Promise<string> => {
    const tool = tools.get(`test__${name}`)
    if (tool === undefined) throw new Error(`there is no tool ${name}`)
    return (await tool.execute({}, context as unknown as ToolContext)).text
  }
  return { server, tools, execute }
}

describe('a server that forgets its sessions', () => {
  test.each([...REFUSED, ...UNCLEAR])(
    'field/mcp-session/%s: a call that may run twice is repeated in a new session',
    async (_variant, refuse) => {
      const { server, execute } = await open(refuse)
      server.forget()
      expect(await execute('look')).toBe('look done')
      server.forget()
      expect(await execute('look')).toBe('look done')
      expect(server.executed).toEqual(['look', 'look'])
    },
  )

  test.each(REFUSED)(
    'field/mcp-session/%s: any refused call is repeated in a new session',
    async (_variant, refuse) => {
      const { server, execute } = await open(refuse)
      server.forget()
      expect(await execute('buy')).toBe('buy done')
      expect(server.executed).toEqual(['buy'])
    },
  )

  test.each(UNCLEAR)(
    'field/mcp-session/%s: a call that must not be repeated fails, and the next call has a new session',
    async (_variant, refuse) => {
      const { server, execute } = await open(refuse)
      server.forget()
      await expect(execute('buy')).rejects.toThrow()
      expect(server.executed).toEqual([])
      expect(await execute('buy')).toBe('buy done')
    },
  )

  test.each(UNCLEAR)(
    'field/mcp-session/%s-after-the-call: a call that was executed is not repeated',
    async (_variant, refuse) => {
      const { server, execute } = await open(refuse)
      server.failAfterNext()
      await expect(execute('buy')).rejects.toThrow()
      expect(server.executed).toEqual(['buy'])
    },
  )
})

test.each([...REFUSED, ...UNCLEAR])(
  'field/mcp-session/%s-at-a-list: the tools are listed in a new session',
  async (_variant, refuse) => {
    const server = await startSessionServer(refuse)
    closing.push(() => server.close())
    let now = 1_000_000
    const connection = connectorWith({
      allowedHosts: [server.host],
      clock: { ...createSystemClock(), now: () => now },
    })(serverAt(server.url))
    expect((await connection.list()).tools).toHaveLength(2)
    server.forget()
    now += 60_001
    expect((await connection.list()).tools).toHaveLength(2)
  },
)
