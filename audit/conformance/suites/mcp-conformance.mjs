/*
 * The official MCP conformance suite. Its server scenarios run against /mcp. Its client scenarios run an agent that
 * uses the suite's server. Each check of a scenario counts. With `--all`, scenarios that need a special server run too.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { finish, record } from '../lib/checks.mjs'
import { scriptedModel } from '../lib/model.mjs'
import { argument, checkout, flag, nodeOf, run, suites } from '../lib/options.mjs'
import { npmPackages, npmVersions } from '../lib/packages.mjs'
import { program } from '../lib/program.mjs'

const wanted = argument('version', '0.2.0-alpha.12')
const packages = npmPackages(`mcp-conformance-${wanted}`, [`@modelcontextprotocol/conformance@${wanted}`])
const suite = join(packages, 'node_modules/@modelcontextprotocol/conformance/dist/index.js')
console.log(npmVersions(packages, ['@modelcontextprotocol/conformance']))
const madeForTheSuite = [
  [/^(tools-call-|elicitation-|json-schema-2020-12$|server-sse-polling)/, 'wants tools of fixed names (test_*)'],
  [/^(resources-|sep-2164)/, 'no resources'],
  [/^prompts-/, 'no prompts'],
  [/^completion-/, 'no completions'],
  [/^logging-/, 'no log messages'],
  [/^(tasks-|sep-2640)/, 'an extension'],
  [/^input-required-/, 'our tools ask nobody'],
  [/^http-custom-header-server/, 'no tool with x-mcp-header'],
  [/^(server-sse-multiple-streams|server-session-lifecycle)$/, 'no sessions of the protocol'],
]
const checksNotFor = [
  [
    /rejects-undeclared-capability|missing-capability-http|no-independent-requests|no-log-without-loglevel/,
    'wants tools of fixed names (test_*)',
  ],
  [/(prompts|resources)(-templates)?-list-caching|resources-read-caching/, 'no prompts and no resources'],
]
const why = (list, name) => list.find(([pattern]) => pattern.test(name))?.[1] ?? ''
const out = mkdtempSync(join(tmpdir(), 'mcp-conformance-'))
const scenariosOf = async (...words) =>
  [...(await run(nodeOf, [suite, 'list', ...words])).stdout.matchAll(/^ +- (\S+) \[(.*)\]/gm)].map(
    ([, name, versions]) => ({ name, versions: versions.split(',') }),
  )
const versions = ['2025-06-18', '2025-11-25', '2026-07-28']
async function scenario(kind, name, version, words, expected, env) {
  const dir = join(out, `${kind}-${name.replaceAll('/', '_')}-${version}`)
  const { stdout, stderr } = await run(
    nodeOf,
    [suite, kind, ...words, '--scenario', name, '--spec-version', version, '-o', dir],
    { limit: 90_000, env },
  )
  const checks = []
  try {
    for (const found of readdirSync(dir, { recursive: true }))
      if (String(found).endsWith('checks.json'))
        checks.push(...JSON.parse(readFileSync(join(dir, String(found)), 'utf8')))
  } catch {
    // The scenario ended before it wrote its checks.
  }
  if (!checks.length)
    return record(
      `${kind} ${name} @${version}`,
      /SKIPPED|not applicable/.test(stdout + stderr),
      (stdout + stderr).slice(-300),
      expected,
    )
  for (const c of checks) {
    if (c.status === 'INFO' || c.status === 'SKIPPED') {
      if (flag('verbose')) console.log(`  ${c.status} ${name} ${c.id}: ${c.description}`)
      continue
    }
    record(
      `${kind} ${name} @${version}: ${c.id}`,
      c.status === 'SUCCESS',
      c.status === 'SUCCESS' ? '' : `${c.status} ${c.errorMessage ?? c.description}`,
      expected ||
        why(checksNotFor, c.id) ||
        (c.status === 'WARNING' && kind === 'server' && why(madeForTheSuite, name)),
    )
  }
}
const model = await scriptedModel()
const served = await program({ model })
let leftOut = 0
for (const { name, versions: at } of await scenariosOf('--server')) {
  const reason = why(madeForTheSuite, name)
  if (reason && !flag('all')) {
    leftOut++
    if (flag('verbose')) console.log(`  left out: ${name} (${reason})`)
    continue
  }
  for (const version of versions.filter((v) => at.includes(v)))
    await scenario('server', name, version, ['--url', `${served.base}/mcp`], reason)
}
await served.stop()
model.close()
const client = `${nodeOf} ${join(suites, 'mcp-client-under-test.mjs')} --checkout ${checkout}`
for (const { name, versions: at } of await scenariosOf('--client')) {
  const reason = name.startsWith('auth/')
    ? 'keys come from the settings: no authorization flow'
    : name.startsWith('elicitation')
      ? 'servers may not ask people'
      : name.startsWith('sep-2640')
        ? 'an extension'
        : ''
  if (reason) {
    leftOut++
    continue
  }
  for (const version of versions.filter((v) => at.includes(v)))
    await scenario(
      'client',
      name,
      version,
      ['--command', client],
      /sep-2322/.test(name) ? 'servers may not ask people' : '',
    )
}
console.log(`left out: ${leftOut} scenarios that want what is not offered`)
await finish('mcp-conformance', () => rmSync(out, { recursive: true, force: true }))
