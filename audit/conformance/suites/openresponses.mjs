/*
 * The acceptance tests of Open Responses against /openai/v1/responses. They run twice: directly, and through a proxy.
 * The proxy adds the fields that our responses lack. --suite names a clone of openresponses/openresponses.
 */
import { createServer } from 'node:http'
import { join, resolve } from 'node:path'
import { finish, record } from '../lib/checks.mjs'
import { scriptedModel } from '../lib/model.mjs'
import { argument, freePort, nodeOf, run } from '../lib/options.mjs'
import { npmPackages } from '../lib/packages.mjs'
import { program } from '../lib/program.mjs'

const suite = argument('suite')
if (!suite) {
  console.error('give the fetched repository with --suite DIR')
  process.exit(2)
}
const packages = npmPackages('openresponses', ['esbuild@0.28.2', 'zod@3.25.76'])
const bundle = join(packages, 'compliance-test.mjs')
const built = await run(
  join(packages, 'node_modules/.bin/esbuild'),
  [
    resolve(suite, 'bin/compliance-test.ts'),
    '--bundle',
    '--platform=node',
    '--format=esm',
    `--outfile=${bundle}`,
    '--log-level=error',
  ],
  { env: { NODE_PATH: join(packages, 'node_modules') } },
)
if (built.code !== 0) throw new Error(built.stderr)

const model = await scriptedModel()
const served = await program({ model })
const lacks = {
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  service_tier: 'default',
  reasoning: null,
  max_tool_calls: null,
  safety_identifier: null,
  prompt_cache_key: null,
}
const filled = (value) =>
  Array.isArray(value)
    ? value.map(filled)
    : value && typeof value === 'object'
      ? Object.fromEntries(
          Object.entries(
            value.object === 'response'
              ? { ...lacks, ...value, temperature: value.temperature ?? 1, top_p: value.top_p ?? 1 }
              : value,
          ).map(([k, v]) => [k, filled(v)]),
        )
      : value
const port = await freePort()
const proxy = createServer(async (req, res) => {
  const chunks = []
  for await (const chunk of req) chunks.push(chunk)
  const answer = await fetch(served.base + req.url, {
    method: req.method,
    headers: { 'content-type': 'application/json' },
    ...(chunks.length ? { body: Buffer.concat(chunks) } : {}),
  })
  const type = answer.headers.get('content-type') ?? '',
    text = await answer.text()
  const patched = type.includes('event-stream')
    ? text.replace(/^data: (\{.*\})$/gm, (_, json) => `data: ${JSON.stringify(filled(JSON.parse(json)))}`)
    : type.includes('json')
      ? JSON.stringify(filled(JSON.parse(text)))
      : text
  res.writeHead(answer.status, { 'content-type': type }).end(patched)
})
await new Promise((r) => proxy.listen(port, '127.0.0.1', r))

const unsupported = (id) =>
  id.startsWith('websocket') ? 'no WebSocket transport' : /compact/.test(id) ? 'no /responses/compact' : ''
for (const [how, base] of [
  ['as it stands', served.base],
  ['with the missing fields added', `http://127.0.0.1:${port}`],
]) {
  const { stdout, stderr } = await run(
    nodeOf,
    [bundle, '--base-url', `${base}/openai/v1`, '-k', 'none', '-m', 'default', '--json'],
    {},
  )
  let results
  try {
    ;({ results } = JSON.parse(stdout))
  } catch {
    record(`${how}: (the suite itself)`, false, stderr.slice(-600))
    continue
  }
  for (const { id, status, errors = [] } of results)
    record(`${how}: ${id}`, status === 'passed', errors.join('; '), unsupported(id))
}
await finish('openresponses', () => proxy.close(), served.stop, model.close)
