// MCP clients of other authors against /mcp: the Python SDK, fastmcp, the command of the MCP inspector, the first
// generation of the TypeScript SDK, and LangChain.
import { join } from 'node:path'
import { check, finish, is, same, take } from '../lib/checks.mjs'
import { scriptedModel } from '../lib/model.mjs'
import { nodeOf, python as programs, run } from '../lib/options.mjs'
import { npmPackages, npmVersions, pipPackages, pipVersions } from '../lib/packages.mjs'
import { program } from '../lib/program.mjs'
const python = pipPackages('mcp', ['fastmcp', 'mcp>=2', 'jsonschema'])
const packages = npmPackages('mcp-clients', [
  '@modelcontextprotocol/inspector@2.12.0',
  '@modelcontextprotocol/sdk',
  '@modelcontextprotocol/client',
  '@langchain/mcp-adapters',
  '@langchain/core',
])
console.log(
  pipVersions(python, ['mcp', 'fastmcp']) +
    ', ' +
    npmVersions(packages, [
      '@modelcontextprotocol/inspector',
      '@modelcontextprotocol/sdk',
      '@modelcontextprotocol/client',
      '@langchain/mcp-adapters',
    ]),
)
const model = await scriptedModel()
const served = await program({ model })
const url = `${served.base}/mcp`
const post = (path, body) =>
  fetch(served.base + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).then((r) => r.json())
for (const text of ['a walrus in the north', 'another', 'a third', '!call current_time {}\nwalrus time']) {
  const { id } = await post('/v1/sessions', {})
  await post(`/v1/sessions/${id}/messages`, { content: text })
}
take('python', await run(python, [join(programs, 'mcp-clients.py'), served.base], { limit: 240_000 }))

const inspector = (...words) =>
  run(
    nodeOf,
    [
      join(packages, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js'),
      '--cli',
      url,
      '--transport',
      'http',
      ...words,
    ],
    { limit: 60_000 },
  )
await check('inspector tools/list --strict', async () => {
  const r = await inspector('--method', 'tools/list', '--strict')
  same(JSON.parse(r.stdout).tools.length, 4, 'tools')
  is(r.code === 0, `exit ${r.code}: ${r.stderr}`)
  return r.stderr.slice(0, 300) || '4 tools, no complaint'
})
await check('inspector tools/call', async () => {
  const r = await inspector(
    '--method',
    'tools/call',
    '--tool-name',
    'search_history',
    '--tool-arg',
    'query=walrus',
    'limit=2',
  )
  is(r.code === 0 && r.stdout.includes('walrus'), `exit ${r.code}: ${r.stdout.slice(0, 200)} ${r.stderr.slice(0, 200)}`)
})
await check('inspector tools/call of an unknown session', async () => {
  const r = await inspector('--method', 'tools/call', '--tool-name', 'read_session', '--tool-arg', 'session=nope')
  is(/isError|not/.test(r.stdout + r.stderr), r.stdout + r.stderr)
  return `exit ${r.code} ${r.stdout.replace(/\s+/g, ' ').slice(0, 120)}`
})
await check('inspector prompts/list', async () => {
  const r = await inspector('--method', 'prompts/list')
  return `exit ${r.code} ${(r.stdout + r.stderr).replace(/\s+/g, ' ').slice(0, 150)}`
})
await check('inspector resources/list', async () => {
  const r = await inspector('--method', 'resources/list')
  return `exit ${r.code} ${(r.stdout + r.stderr).replace(/\s+/g, ' ').slice(0, 150)}`
})

const from = (name) => import(join(packages, 'node_modules', name))
await check('TypeScript SDK of the first generation', async () => {
  const { Client } = await from('@modelcontextprotocol/sdk/dist/esm/client/index.js')
  const { StreamableHTTPClientTransport } = await from('@modelcontextprotocol/sdk/dist/esm/client/streamableHttp.js')
  const client = new Client({ name: 'conf', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  const { tools } = await client.listTools()
  const r = await client.callTool({ name: 'search_history', arguments: { query: 'walrus' } })
  is(r.structuredContent.data.length > 0, JSON.stringify(r).slice(0, 200))
  await client.close()
  return `${tools.length} tools`
})
await check('LangChain MCP adapters', async () => {
  const { MultiServerMCPClient } = await from('@langchain/mcp-adapters/dist/index.js')
  const client = new MultiServerMCPClient({ mcpServers: { tooltrail: { transport: 'http', url } } })
  const tools = await client.getTools()
  const found = await tools.find((t) => t.name.endsWith('search_history')).invoke({ query: 'walrus' })
  is(JSON.stringify(found).includes('walrus'), JSON.stringify(found).slice(0, 200))
  await client.close()
  return tools.map((t) => t.name).join(' ')
})
await finish('mcp-clients', served.stop, model.close)
