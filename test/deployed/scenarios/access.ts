import { Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { definedFields } from '../../../functions/domain/defined-fields.ts'
import type { RunBody } from '../../e2e/backend/client.ts'
import type { System } from '../system.ts'
import { pngWith } from '../../fixtures/png.ts'

const MB = 1024 * 1024
/** The largest body that the specification allows. */
const MAX_BODY_BYTES = 4 * MB
const TOOL = { name: 'fetch_log', description: 'executed by the caller', parameters: { type: 'object' } }

/** Scenarios of keys, limits and response formats. */
export function declareAccess(system: () => System): void {
  test.each([
    ['no key', {}],
    ['a wrong key', { authorization: `Bearer tt_${'x'.repeat(43)}` }],
  ])('a request with %s gets the status 401', async (_, headers) => {
    const reply = await fetch(`${system().client.url}/v1/sessions/tour`, { headers })
    expect(reply.status).toBe(401)
    expect(reply.headers.get('content-type')).toContain('application/problem+json')
  })

  test('another tenant’s session looks like one that never existed', async () => {
    const { stranger } = system()
    const foreign = await stranger.send('GET', '/v1/sessions/tour')
    const unknown = await stranger.send('GET', '/v1/sessions/never')
    expect([foreign.status, unknown.status]).toStrictEqual([404, 404])
    expect((await stranger.get<{ data: unknown[] }>('/v1/search?q=blue%20crate')).data).toStrictEqual([])
  })

  test('a tenant lists its own sessions, the most recently used first', async () => {
    const { client, stranger } = system()
    const list = async (of: typeof client): Promise<string[]> =>
      (await of.get<{ data: { id: string }[] }>('/v1/sessions')).data.map(({ id }) => id)
    expect((await list(client)).slice(0, 2)).toStrictEqual(['tour', 'killed'])
    expect(await list(stranger)).toStrictEqual([])
  })

  test('MCP clients see only the sessions of their key', async () => {
    const { client, stranger } = system()
    const list = async ({ url, headers }: typeof client): Promise<unknown> => {
      const reader = new McpClient({ name: 'test', version: '1' })
      const requestInit = { headers: { ...headers } }
      await reader.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }))
      const { structuredContent } = await reader.callTool({ name: 'list_sessions', arguments: { limit: 2 } })
      await reader.close()
      return (structuredContent as { data: { id: string }[] }).data.map(({ id }) => id)
    }
    expect(await list(client)).toStrictEqual(['tour', 'killed'])
    expect(await list(stranger)).toStrictEqual([])
    expect((await fetch(`${client.url}/mcp`, { method: 'POST' })).status).toBe(401)
  })

  test('a path outside of the stage never reaches a function', async () => {
    const { client, functions } = system()
    const before = functions.Api.events.length
    const reply = await fetch(new URL('/v1/sessions/tour', client.url), { headers: client.headers })
    expect([reply.status, functions.Api.events.length]).toStrictEqual([403, before])
  })

  test('the root of the stage belongs to the app, like all paths', async () => {
    const { client } = system()
    const reply = await fetch(`${client.url}/`, { headers: client.headers })
    expect(reply.headers.get('x-request-id')).not.toBeNull()
    expect(reply.headers.get('content-type')).toContain('text/html')
  })

  test('bodies of 4 MB are accepted, larger ones are refused with 413', async () => {
    const { client } = system()
    await client.post('/v1/sessions', { id: 'large' })
    const path = '/v1/sessions/large/messages'
    // Quotes are escaped once here. No step between the client and the function may escape them again.
    const filled = (bytes: number): string => `{"content": "${'\\"'.repeat((bytes - 16) / 2)}"}`
    const taken = await client.send('POST', path, filled(MAX_BODY_BYTES), { prefer: 'respond-async' })
    expect([taken.status, taken.text.slice(0, 200)]).toStrictEqual([202, expect.any(String)])
    const refused = await client.send<{ status: number }>('POST', path, filled(MAX_BODY_BYTES + 2))
    expect([refused.status, refused.body.status]).toStrictEqual([413, 413])
    const farTooLarge = await client.send('POST', path, filled(11 * MB))
    expect(farTooLarge.status).toBe(413)
  })

  test('open streams and waiting requests of a key are counted across all processes', async () => {
    const client = await system().withCaps('--open-calls', '2')
    const input = JSON.stringify({ content: 'work 60 rounds of 500 ms' })
    const stream = async (session: string): Promise<Response> => {
      const headers = { ...client.headers, 'content-type': 'application/json', accept: 'text/event-stream' }
      return fetch(`${client.url}/v1/sessions/${session}/messages`, { method: 'POST', headers, body: input })
    }
    const sessions = ['counted-1', 'counted-2', 'counted-3']
    for (const id of sessions) await client.post('/v1/sessions', { id })
    const [first, second, third] = await Promise.all(sessions.map(stream))
    const replies = [first, second, third].flatMap((reply, at) =>
      reply === undefined ? [] : [[reply, sessions[at]] as const],
    )
    const taken = replies.filter(([reply]) => reply.status === 200)
    const refused = replies.filter(([reply]) => reply.status === 429)
    expect([taken.length, refused.length]).toStrictEqual([2, 1])
    expect(await refused[0]?.[0].text()).toContain('has 2 streams and waiting calls open')
    const apart = await client.send('POST', '/v1/sessions/counted-1/messages', input, { prefer: 'respond-async' })
    expect(apart.status).toBe(202)
    for (const [reply, session] of taken) {
      await client.send('DELETE', `/v1/sessions/${session}`)
      await reply.text()
    }
    const again = await stream(refused[0]?.[1] ?? '')
    expect(again.status).toBe(200)
    await client.send('DELETE', `/v1/sessions/${refused[0]?.[1]}`)
    await again.text()
  })

  test('an image is returned byte for byte, as a whole and in ranges', async () => {
    const { client } = system()
    const bytes = pngWith(randomBytes(2 * MB + 17))
    const image = { type: 'image', media_type: 'image/png', data: bytes.toString('base64') }
    await client.post('/v1/sessions', { id: 'image' })
    const content = [{ type: 'text', text: 'what time is it' }, image]
    await client.post<RunBody>('/v1/sessions/image/messages', { content })
    const [message] = await client.messages('image')
    const part = message?.parts.find(({ type }) => type === 'image') as { readonly id: string } | undefined
    const path = `/v1/sessions/image/messages/${message?.id}/output?part=${part?.id}`
    const whole = await download(system(), path)
    expect([whole.status, Buffer.compare(whole.bytes, bytes)]).toStrictEqual([200, 0])
    const range = await download(system(), path, `bytes=1048570-${MB + 9}`)
    expect([range.status, range.headers.get('content-range')]).toStrictEqual([
      206,
      `bytes 1048570-${MB + 9}/${bytes.byteLength}`,
    ])
    expect(Buffer.compare(range.bytes, bytes.subarray(1_048_570, MB + 10))).toBe(0)
    await client.send('DELETE', '/v1/sessions/image')
    expect((await download(system(), path)).status).toBe(404)
  })

  test('a large result is stored completely beside the log, and is readable in ranges', async () => {
    const { client } = system()
    await client.post('/v1/sessions', { id: 'output' })
    const input = { content: 'use fetch_log', tools: [TOOL] }
    const run = await client.post<RunBody>('/v1/sessions/output/messages', input)
    const lines = Array.from({ length: 60_000 }, (_, line) => `line ${line} ä\n`).join('')
    const results = [{ tool_call_id: run.waiting[0]?.tool_call_id, output: lines }]
    await client.post(`/v1/sessions/output/runs/${run.id}/tool-results`, { results })
    const tool = (await client.messages('output')).find(({ role }) => role === 'tool')
    const path = `/v1/sessions/output/messages/${tool?.id}/output`
    const whole = await download(system(), path)
    expect(whole.bytes.toString()).toBe(lines)
    const last = await download(system(), path, 'bytes=-13')
    expect([last.status, last.bytes.toString()]).toStrictEqual([206, Buffer.from(lines).subarray(-13).toString()])
  })
}

async function download({ client }: System, path: string, range?: string) {
  const headers = { ...client.headers, ...definedFields({ range }) }
  const response = await fetch(client.url + path, { headers })
  return {
    status: response.status,
    headers: response.headers,
    bytes: Buffer.from(await response.arrayBuffer()),
  }
}
