import { afterEach, expect, test } from 'vitest'
import { declaredTools } from '../../../functions/adapters/mcp/listed-tools.ts'
import { repairMessage } from '../../../functions/adapters/mcp/repair-response.ts'
import { readBlock } from '../../../functions/adapters/mcp/result-blocks.ts'
import type { Json } from '../../../functions/domain/json.ts'
import { readJson } from '../../../functions/log/json/exact-json.ts'
import { hideSecrets } from '../../../functions/adapters/mcp/hide-secrets.ts'
import { createMcpToolRegistry } from '../../../functions/adapters/mcp/tool-registry.ts'
import { compactJson } from '../../../functions/log/json/json-spans.ts'
import { openHarness } from '../../agent/harness.ts'
import { jsonText } from '../../generators/json-text.ts'
import { fc } from '../../generators/seeded.ts'
import { connector, serverAt, startRawServer } from './servers.ts'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

const VALUES = fc.sample(jsonText, { numRuns: 20, seed: 11 }).join(',')
const compact = (text: string): string => compactJson(text, { from: 0, to: text.length })
const SCHEMA =
  '{"type":"object","properties":{"id":{"type":"integer","maximum":18446744073709551615,"multipleOf":1.0}}}'
const ARGUMENTS = `{"id":9007199254740993,"total":10.00,"values":[${VALUES}]}`
const CONTENT = `{"id":9007199254740995,"total":0.50,"values":[${VALUES}]}`

/** Starts a server with one tool. The server returns structured content, in a body of JSON or as an event. */
async function start(form: 'json' | 'event') {
  const calls: string[] = []
  const server = await startRawServer(({ id, method }, response, _request, text) => {
    if (method === 'tools/call') calls.push(text ?? '')
    const results: Readonly<Record<string, string>> = {
      'tools/list': `{"tools":[{"name":"pay","inputSchema":${SCHEMA}}]}`,
      'tools/call': `{"content":[],"structuredContent":${CONTENT}}`,
    }
    const body = `{"jsonrpc":"2.0","id":${id},"result":${results[method]}}`
    response.writeHead(200, { 'content-type': form === 'json' ? 'application/json' : 'text/event-stream' })
    // The data of an event may have more than one line.
    response.end(
      form === 'json'
        ? body
        : `id: 1\nevent: message\ndata: ${body.replaceAll('\n', ' ').replace(',"result"', '\ndata: ,"result"')}\n\n`,
    )
  })
  closing.push(() => server.close())
  return { ...server, calls }
}

test.each(['json', 'event'] as const)(
  'field/19/mcp-%s · sqlite: arguments, results and schemas of an MCP server keep their numbers',
  async (form) => {
    const server = await start(form)
    const sent = async () => ({ headers: { authorization: 'a secret of this server' }, secrets: [] })
    const harness = await openHarness({
      script: [{ calls: [{ id: 'c', name: 'shop__pay', arguments: ARGUMENTS }] }, { text: 'done' }],
      mcp: [serverAt(server.url, { name: 'shop' })],
      registry: (list, outputs) =>
        createMcpToolRegistry({
          list,
          outputs,
          connect: (one) => hideSecrets(connector(server.host)(one), { url: one.url, sent }),
        }),
    })
    closing.push(() => harness.close())
    expect((await harness.settled(await harness.submit('go'))).status).toBe('completed')
    expect(server.calls).toEqual([expect.stringContaining(`"arguments":${compact(ARGUMENTS)}`)])
    const [first, second] = harness.requests
    expect(JSON.stringify(first?.tools[0]?.parameters)).toBe(SCHEMA)
    // The tools of the second request come from the store.
    expect(JSON.stringify(second?.tools[0]?.parameters)).toBe(SCHEMA)
    expect(second?.messages.at(-1)?.parts).toMatchObject([{ type: 'text', text: compact(CONTENT) }])
    const stored = (await harness.log()).find(({ role }) => role === 'tool')
    expect(JSON.stringify(stored?.parts.find(({ type }) => type === 'data'))).toBe(
      `{"type":"data","data":${compact(CONTENT)}}`,
    )
  },
)

test('an exact number is rejected where an object is required', () => {
  const number = readJson('1e400') as Json
  const { tools, left } = declaredTools({ tools: [{ name: 'a', inputSchema: number }, number], refused: [] }, undefined)
  expect(tools).toEqual([])
  expect(left).toContain('its schema is not an object: "a"')
  expect(left).toContain('it is not an object: tool 2 of the list')
  expect(readBlock(number)).toEqual({ text: '1e400' })
  const message = { jsonrpc: '2.0', id: 1, error: number }
  expect(repairMessage(message, { id: 1 }, undefined)).toMatchObject({ error: { message: '1e400' } })
})
