/* Evidence, search: MCP clients see the same data as clients of the API, in the same format. Bad arguments are error results.
 * */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { defineTool } from '../../functions/tools/define-tool.ts'
import { z } from 'zod'
import { expectJson, openHttpHarness } from './harness.ts'
import type { HttpHarness } from './harness.ts'

const report = defineTool({
  name: 'report',
  description: 'Reports.',
  input: z.strictObject({}),
  execute: async () => ({
    text: Array.from({ length: 9_000 }, (_, line) => `line ${line + 1} of the crates`).join('\n'),
  }),
})

let harness: HttpHarness
let clients: Client[] = []

beforeEach(async () => {
  harness = await openHttpHarness({
    tools: [report],
    script: [{ calls: [{ id: 'call_1', name: 'report', arguments: '{}' }] }, { text: 'There are many blue crates.' }],
  })
})
afterEach(async () => {
  await Promise.all(clients.map((client) => client.close()))
  clients = []
  await harness.close()
})

type Page = { readonly data: readonly { readonly [name: string]: unknown }[]; readonly next: string | null }

/** Connects the official client to `/mcp` of the program in this process. */
async function connect(headers: Record<string, string> = {}, mode: 'legacy' | 'auto' = 'legacy'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  clients.push(client)
  await client.connect(
    new StreamableHTTPClientTransport(new URL('http://localhost:3000/mcp'), {
      requestInit: { headers },
      fetch: async (url, init) => harness.program.app.fetch(new Request(url, init)),
    }),
  )
  return client
}

async function call(client: Client, name: string, input: Record<string, unknown>) {
  const result = await client.callTool({ name, arguments: input })
  const text = result.content.map((part) => (part.type === 'text' ? part.text : '')).join('')
  return { text, page: result.structuredContent as unknown as Page, isError: result.isError === true }
}

const errors = () => harness.lines.filter(({ level }) => level === 'error')

async function talk(owner: string, id: string): Promise<void> {
  await expectJson(harness, 201, 'POST', '/v1/sessions', { id, owner })
  await expectJson(harness, 200, 'POST', `/v1/sessions/${id}/messages`, { content: 'How many blue crates are there?' })
}

describe.each(['legacy', 'auto'] as const)('the memory over MCP, %s revision', (mode) => {
  test('has four read-only tools', async () => {
    const client = await connect({}, mode)
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['search_history', 'read_output', 'list_sessions', 'read_session'])
    for (const tool of tools) expect(tool.annotations?.readOnlyHint, tool.name).toBe(true)
    // The client checks each result against these schemas.
    const page = { outputSchema: { required: expect.arrayContaining(['object', 'data', 'next', 'has_more']) } }
    const output = { outputSchema: { required: ['pointer', 'lines', 'bytes', 'text'] } }
    expect(tools).toMatchObject([page, output, page, page])
    expect(client.getInstructions()).toContain('search_history')
  })

  test("finds, lists and reads the API's data, in the API's formats", async () => {
    await talk('ann', 'crates-1')
    const client = await connect({}, mode)

    const found = await call(client, 'search_history', { query: 'blue crates', role: 'user' })
    const search = await expectJson<Page>(harness, 200, 'GET', '/v1/search?q=blue+crates&role=user')
    expect(found.page).toEqual(search)
    expect(found.text).toContain('“How many blue crates are there?”\nUSER: How many «blue crates» are there?')

    const listed = await call(client, 'list_sessions', {})
    expect(listed.page).toEqual(await expectJson(harness, 200, 'GET', '/v1/sessions'))
    expect(listed.text).toContain('crates-1 | ')

    const first = await call(client, 'read_session', { session: 'crates-1', limit: 2 })
    expect(first.page).toEqual(await expectJson(harness, 200, 'GET', '/v1/sessions/crates-1/messages?limit=2'))
    expect(first.text).toContain('go on with after=')
    const rest = await call(client, 'read_session', { session: 'crates-1', after: first.page.next })
    const whole = await expectJson<Page>(harness, 200, 'GET', '/v1/sessions/crates-1/messages')
    expect([...first.page.data, ...rest.page.data]).toEqual(whole.data)
    expect(rest.page.next).toBeNull()

    const pointer = /output:[0-9A-Z]{26}/.exec(rest.text + first.text)?.[0]
    const read = await call(client, 'read_output', { pointer, lines: '8999-' })
    expect(read.text).toContain('9000: line 9000 of the crates')
    expect(read.page).toMatchObject({
      pointer,
      session_id: 'crates-1',
      tool_name: 'report',
      lines: 9_000,
      text: read.text,
    })
  })
})

describe('a position in a session', () => {
  test('is read with the messages around, before or after it, as the API shows them', async () => {
    await talk('ann', 'crates-1')
    const client = await connect()
    const at = '/v1/sessions/crates-1/messages'
    const { data } = await expectJson<Page>(harness, 200, 'GET', at)
    const ids = data.map(({ id }) => String(id))
    expect(ids).toHaveLength(4)
    for (const place of [{ around: ids[2] }, { before: ids[2] }, { after: ids[1] }]) {
      const [[name, id] = []] = Object.entries(place)
      const shown = await expectJson(harness, 200, 'GET', `${at}?${name}=${id}&limit=2`)
      const { text, page } = await call(client, 'read_session', { session: 'crates-1', ...place, limit: 2 })
      expect(page, name).toEqual(shown)
      const { previous } = shown
      if (typeof previous === 'string') expect(text).toContain(`go back with before="${previous}"`)
    }
    const { tools } = await client.listTools()
    const schema = JSON.stringify(tools.find(({ name }) => name === 'read_session')?.inputSchema)
    for (const place of ['around', 'before', 'after'])
      expect(schema).toContain(`"${place}":{"description":"The id of a message`)
  })

  test('of another session, or together with another position, causes an error result that names the position', async () => {
    await talk('ann', 'crates-1')
    await expectJson(harness, 201, 'POST', '/v1/sessions', { id: 'empty' })
    const [first] = (await expectJson<Page>(harness, 200, 'GET', '/v1/sessions/crates-1/messages')).data
    const id = String(first?.['id'])
    const client = await connect()
    for (const name of ['around', 'before', 'after'])
      expect(await call(client, 'read_session', { session: 'empty', [name]: id })).toMatchObject({
        isError: true,
        text: `error: ${name}: session empty has no message ${id}`,
      })
    const both = await call(client, 'read_session', { session: 'crates-1', around: id, after: id })
    expect([both.isError, both.text]).toEqual([true, expect.stringContaining('one of around, before and after')])
  })
})

describe('access over MCP', () => {
  test('requires a key, and no scope except read', async () => {
    await harness.key()
    const body = { jsonrpc: '2.0', id: 1, method: 'ping' }
    const headers = { accept: 'application/json, text/event-stream' }
    const none = await harness.send('POST', '/mcp', body, headers)
    expect(none.status).toBe(401)
    expect(none.headers.get('www-authenticate')).toMatch(/^Bearer/)
    const writer = await harness.key({ scopes: ['write'] })
    expect((await harness.send('POST', '/mcp', body, { ...headers, ...writer })).status).toBe(403)
    const reader = await harness.key({ scopes: ['read'] })
    expect((await harness.send('POST', '/mcp', body, { ...headers, ...reader })).status).toBe(200)
  })

  test('is refused with 405 for GET and DELETE', async () => {
    for (const method of ['GET', 'DELETE']) {
      const response = await harness.send(method, '/mcp', undefined, { accept: 'text/event-stream' })
      expect(response.status, method).toBe(405)
      expect(response.headers.get('allow')).toBe('POST')
    }
  })

  test("is limited to the tenant of the key, and to the key's owner if the key is bound", async () => {
    await talk('ann', 'anns')
    const bound = await connect(await harness.key({ owner: 'bob' }))
    const tenant = await connect(await harness.key({ tenant: 'other' }))
    const [message] = (
      await harness.ports.reader.messages(
        { tenant: 'default', session: 'anns' },
        { order: 'descending', limit: 3, roles: ['tool'] },
      )
    ).messages
    for (const client of [bound, tenant]) {
      expect((await call(client, 'search_history', { query: 'crates' })).page.data).toEqual([])
      expect((await call(client, 'list_sessions', {})).page.data).toEqual([])
      const foreign = await call(client, 'read_session', { session: 'anns' })
      const unknown = await call(client, 'read_session', { session: 'none' })
      expect([foreign.isError, foreign.text]).toEqual([true, 'error: there is no session anns'])
      expect([unknown.isError, unknown.text]).toEqual([true, 'error: there is no session none'])
      const output = await call(client, 'read_output', { pointer: `output:${message?.id}` })
      expect([output.isError, output.text]).toEqual([true, expect.stringContaining('there is no output behind')])
    }
    const ann = await connect(await harness.key({ owner: 'ann' }))
    expect((await call(ann, 'list_sessions', {})).page.data).toHaveLength(1)
    expect((await call(ann, 'read_output', { pointer: `output:${message?.id}`, lines: '1' })).isError).toBe(false)
  })
})

describe('bad requests', () => {
  test.each([
    ['search_history', {}, 'query'],
    ['search_history', { query: 'x', since: 'yesterday' }, 'since'],
    ['search_history', { query: 'x', limit: 51 }, 'limit'],
    ['search_history', { query: 'x', after: 'nonsense' }, 'cursor'],
    ['search_history', { query: 'x', owner: 'ann' }, 'owner'],
    ['read_output', { pointer: 'output:../../etc/passwd' }, 'there is no output'],
    ['read_output', { pointer: 'output:01JD2Q8N4T6W8Y0A2C4E6G8J0K' }, 'there is no output'],
    ['list_sessions', { after: 'nonsense' }, 'cursor'],
    ['read_session', { session: '../x' }, 'session'],
    ['read_session', { session: 'none', after: "x'; drop" }, 'after'],
  ] as const)('%s %j is an error result with the reason', async (name, input, reason) => {
    const client = await connect()
    const { isError, text } = await call(client, name, input)
    expect([isError, text]).toEqual([true, expect.stringContaining(reason)])
    expect(errors()).toEqual([])
  })

  test.each([
    ['not JSON', '{"jsonrpc":', 400],
    ['no message', '{}', 400],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 400],
    ['not UTF-8', new Uint8Array([0xff, 0xfe]), 400],
    ['nested too deeply', `${'['.repeat(100)}${']'.repeat(100)}`, 400],
    ['too large', JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'x'.repeat(5_000_000) }), 413],
  ])('%s is refused', async (_, body, status) => {
    const response = await harness.send('POST', '/mcp', body, { accept: 'application/json, text/event-stream' })
    expect(response.status).toBe(status)
  })

  test('a subscription is refused as a method that does not exist', async () => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'subscriptions/listen',
      params: { _meta: meta, notifications: { toolsListChanged: true } },
    }
    const headers = {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    }
    const response = await harness.send('POST', '/mcp', body, headers)
    const answer = [response.status, await response.json()]
    expect(answer).toMatchObject([404, { jsonrpc: '2.0', id: 1, error: { code: -32601 } }])
  })

  test('an error of the store is reported without its text', async () => {
    await harness.close()
    harness = await openHttpHarness({
      change: (ports) => ({
        ...ports,
        sessions: { ...ports.sessions, list: () => Promise.reject(new Error('/var/secret.db is gone')) },
      }),
    })
    const { isError, text } = await call(await connect(), 'list_sessions', {})
    expect([isError, text]).toEqual([true, 'error: something went wrong on our side'])
    expect(errors()).toMatchObject([{ message: 'an MCP tool failed', fields: { tool: 'list_sessions' } }])
  })
})
