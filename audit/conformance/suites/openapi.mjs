/*
 * The OpenAPI document of a running program: a validator and linters, generated clients that are compiled and used, and
 * Schemathesis without and with a key. Options: --fuzz-seconds N, --keyed-seconds N, --examples N, --no-fuzz.
 */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { check, finish, is, record } from '../lib/checks.mjs'
import { scriptedModel } from '../lib/model.mjs'
import { argument, checkout, flag, nodeOf, run } from '../lib/options.mjs'
import { npmPackages, npmVersions, pipPackages, pipVersions } from '../lib/packages.mjs'
import { program } from '../lib/program.mjs'
const tools = npmPackages('openapi', [
  '@redocly/cli',
  '@stoplight/spectral-cli',
  'openapi-typescript',
  'openapi-fetch',
  '@hey-api/openapi-ts',
  'typescript@5',
  'esbuild',
])
const python = pipPackages('openapi', ['schemathesis', 'openapi-python-client', 'openapi-spec-validator', 'mypy'])
console.log(
  npmVersions(tools, ['@redocly/cli', '@stoplight/spectral-cli', 'openapi-typescript', '@hey-api/openapi-ts']) +
    ', ' +
    pipVersions(python, ['schemathesis', 'openapi-python-client', 'openapi-spec-validator']),
)
const model = await scriptedModel(),
  served = await program({ model }),
  dir = mkdtempSync(join(tmpdir(), 'openapi-'))
const document = await (await fetch(`${served.base}/openapi.json`)).text(),
  file = join(dir, 'openapi.json')
writeFileSync(file, document)
const spec = JSON.parse(document)
console.log(
  `OpenAPI ${spec.openapi}, ${Object.keys(spec.paths).length} paths, ${Object.values(spec.paths).flatMap((p) => Object.keys(p)).length} operations, ${Object.keys(spec.components.schemas).length} schemas, ${document.length} bytes`,
)
const bin = (name) => join(tools, 'node_modules/.bin', name)
const env = {
  PATH: `${join(nodeOf, '..')}:${process.env.PATH}`,
  REDOCLY_TELEMETRY: 'off',
  REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  NO_COLOR: '1',
}
await check('openapi-spec-validator', async () => {
  const r = await run(python, ['-m', 'openapi_spec_validator', file])
  is(r.code === 0, r.stdout + r.stderr)
  return r.stdout.trim().split(':').at(-1)
})
await check('redocly lint (recommended)', async () => {
  const r = await run(bin('redocly'), ['lint', file, '--extends=recommended', '--format=json', '--max-problems=500'], {
    cwd: dir,
    env,
  })
  const out = JSON.parse(r.stdout.slice(r.stdout.indexOf('{')))
  const counts = {}
  for (const p of out.problems) (counts[`${p.severity} ${p.ruleId}`] ??= []).push(p.location[0]?.pointer)
  if (flag('verbose')) console.log(counts)
  is(
    out.totals.errors === 0,
    `${JSON.stringify(out.totals)} ${JSON.stringify(Object.entries(counts).map(([k, v]) => [k, v.length, v[0]]))}`,
  )
  return JSON.stringify(Object.entries(counts).map(([k, v]) => [k, v.length, v[0]]))
})
await check(
  'spectral lint (spectral:oas)',
  async () => {
    writeFileSync(join(dir, 'ruleset.yaml'), 'extends: ["spectral:oas"]\n')
    const r = await run(bin('spectral'), ['lint', file, '-r', join(dir, 'ruleset.yaml'), '-f', 'json', '--quiet'], {
      cwd: dir,
      env,
      limit: 120_000,
    })
    const found = JSON.parse(r.stdout.trim() || '[]')
    const counts = {}
    for (const p of found)
      (counts[`${['error', 'warn', 'info', 'hint'][p.severity]} ${p.code}`] ??= []).push(p.path.join('.'))
    is(
      !found.some((p) => p.severity === 0),
      JSON.stringify(Object.entries(counts).map(([k, v]) => [k, v.length, v.slice(0, 3)])),
    )
    return JSON.stringify(Object.entries(counts).map(([k, v]) => [k, v.length, v[0]]))
  },
  { limit: 130_000 },
)
await check(
  'openapi-typescript: types compile, openapi-fetch calls',
  async () => {
    const r = await run(bin('openapi-typescript'), [file, '-o', join(tools, 'schema.d.ts')], { env })
    is(r.code === 0, r.stdout + r.stderr)
    writeFileSync(
      join(tools, 'use-fetch.ts'),
      `import createClient from 'openapi-fetch'\nimport type { paths } from './schema'\nconst client = createClient<paths>({ baseUrl: '${served.base}' })\nconst { data: s } = await client.POST('/v1/sessions', { body: { owner: 'you' } })\nconst { data: r, error } = await client.POST('/v1/sessions/{session}/messages', { params: { path: { session: s!.id } }, body: { content: 'hello' } })\nconst run = r as Extract<typeof r, { object: 'run' }> // one of two content types\nif (error || run?.status !== 'completed') throw new Error(JSON.stringify(error ?? r))\nconst { data: log } = await client.GET('/v1/sessions/{session}/messages', { params: { path: { session: s!.id }, query: { limit: 10 } } })\nconsole.log(run.status, (log as { data: unknown[] }).data.length)\n`,
    )
    const t = await run(
      bin('tsc'),
      [
        '--noEmit',
        '--strict',
        '--skipLibCheck',
        '--module',
        'esnext',
        '--moduleResolution',
        'bundler',
        '--target',
        'es2022',
        '--lib',
        'es2022,dom,dom.iterable',
        'use-fetch.ts',
        'schema.d.ts',
      ],
      { cwd: tools, env, limit: 120_000 },
    )
    is(t.code === 0, t.stdout)
    await run(
      bin('esbuild'),
      ['use-fetch.ts', '--bundle', '--platform=node', '--format=esm', '--outfile=use-fetch.mjs'],
      { cwd: tools, env },
    )
    const c = await run(nodeOf, ['use-fetch.mjs'], { cwd: tools })
    is(c.code === 0, c.stderr.slice(-500))
    return c.stdout.trim()
  },
  { limit: 150_000 },
)
await check(
  'hey-api: client generated, compiled strictly, used',
  async () => {
    const out = join(tools, 'hey'),
      r = await run(bin('openapi-ts'), ['-i', file, '-o', out, '-c', '@hey-api/client-fetch'], {
        cwd: tools,
        env,
        limit: 120_000,
      })
    is(r.code === 0, r.stdout.slice(-800) + r.stderr.slice(-800))
    const sdk = readFileSync(join(out, 'sdk.gen.ts'), 'utf8'),
      names = [...sdk.matchAll(/export const (\w+) =/g)].map((m) => m[1])
    writeFileSync(
      join(tools, 'use-hey.ts'),
      `import { createSession, sendMessage } from './hey/sdk.gen'\nimport { client } from './hey/client.gen'\nclient.setConfig({ baseUrl: '${served.base}' })\nconst { data: s } = await createSession({ body: {} })\nconst { data: r, error } = await sendMessage({ path: { session: s!.id }, body: { content: 'hello' } })\nif (error || r?.status !== 'completed') throw new Error(JSON.stringify(error ?? r))\nconsole.log(r.status)\n`.replaceAll(
        'sendMessage',
        names.find((n) => /^(send|create|post)Message$/.test(n)) ??
          names.find((n) => n.endsWith('Message')) ??
          'sendMessage',
      ),
    )
    const t = await run(
      bin('tsc'),
      [
        '--noEmit',
        '--strict',
        '--skipLibCheck',
        '--module',
        'esnext',
        '--moduleResolution',
        'bundler',
        '--target',
        'es2022',
        '--lib',
        'es2022,dom,dom.iterable',
        'use-hey.ts',
      ],
      { cwd: tools, env, limit: 120_000 },
    )
    is(t.code === 0, t.stdout.slice(0, 1200))
    await run(bin('esbuild'), ['use-hey.ts', '--bundle', '--platform=node', '--format=esm', '--outfile=use-hey.mjs'], {
      cwd: tools,
      env,
    })
    const c = await run(nodeOf, ['use-hey.mjs'], { cwd: tools })
    is(c.code === 0, c.stderr.slice(-500))
    return `${names.length} functions, ${c.stdout.trim()}`
  },
  { limit: 200_000 },
)
await check(
  'openapi-python-client: generated without warnings, imported, used',
  async () => {
    const out = join(dir, 'pyclient'),
      r = await run(
        join(python, '../openapi-python-client'),
        ['generate', '--path', file, '--output-path', out, '--meta', 'none', '--overwrite'],
        { cwd: dir, limit: 120_000 },
      )
    const said = r.stdout + r.stderr
    is(r.code === 0, said.slice(-800))
    const warnings = [...said.matchAll(/WARNING[^\n]*\n\n?([^\n]*)/g)].map((m) => m[0].replace(/\s+/g, ' '))
    const t = await run(
      python,
      [
        '-c',
        `import sys, pkgutil, importlib; sys.path.insert(0, ${JSON.stringify(dir)})\nimport pyclient\nn = 0\nfor m in pkgutil.walk_packages(pyclient.__path__, 'pyclient.'):\n    importlib.import_module(m.name); n += 1\nprint(n)`,
      ],
      { cwd: dir },
    )
    is(t.code === 0, t.stderr.slice(-800))
    is(!warnings.length, `${warnings.length} warnings: ${warnings.join(' | ').slice(0, 900)}`)
    return `${t.stdout.trim()} modules`
  },
  { limit: 150_000 },
)
async function schemathesis(name, base, document, words, seconds) {
  // `positive_data_acceptance` is excluded, because the program may reject values that fit their schema: cursors, unknown
  // ids, or the last message of a list.
  const report = join(dir, `${name}.json`)
  const r = await run(
    join(python, '../st'),
    [
      'run',
      document,
      '--url',
      base,
      '--checks',
      'all',
      '--exclude-checks',
      'positive_data_acceptance',
      '--max-examples',
      argument('examples', '12'),
      '--seed',
      argument('seed', '20261126'),
      '--request-timeout',
      '20',
      '--workers',
      '1',
      '--max-time',
      String(seconds),
      '--continue-on-failure',
      '--no-shrink',
      '--no-color',
      '--report-json-path',
      report,
      '--exclude-path-regex',
      'runs/.run./events$',
      ...words,
    ],
    { cwd: dir, limit: (seconds + 120) * 1000 },
  )
  if (argument('out')) {
    writeFileSync(`${argument('out')}-${name}.txt`, r.stdout + r.stderr)
    try {
      writeFileSync(`${argument('out')}-${name}.json`, readFileSync(report))
    } catch {
      // Schemathesis wrote no report.
    }
  }
  const kinds = {}
  for (const m of r.stdout.matchAll(/^- (.+)$/gm)) kinds[m[1]] = (kinds[m[1]] ?? 0) + 1
  record(
    `schemathesis, ${name}`,
    r.code === 0,
    `exit ${r.code}: ${JSON.stringify(kinds).slice(0, 800)} ${/Test cases:\s*\n(.*)/.exec(r.stdout)?.[1]?.trim() ?? r.stdout.slice(-600)}`,
  )
}
if (!flag('no-fuzz')) {
  const seconds = Number(argument('fuzz-seconds', '420'))
  await schemathesis(
    'without keys',
    served.base,
    file,
    ['--phases', argument('phases', 'examples,coverage,fuzzing,stateful')],
    seconds,
  )
  // Runs the test again with a key, because callers without a key get only a part of the document.
  const keyed = await program({ model })
  const made = await run(
    'npm',
    ['run', '--silent', 'keys', '--', 'create', '--tenant', 'default', '--scope', 'admin'],
    { cwd: checkout, env: { TOOLTRAIL_DATA: join(keyed.data, 'data') } },
  )
  const key = /tt_\S+/.exec(made.stdout)?.[0]
  await check('with a key: the document says so, and Redocly finds security everywhere', async () => {
    const keyedFile = join(dir, 'keyed.json'),
      text = await (await fetch(`${keyed.base}/openapi.json`)).text()
    writeFileSync(keyedFile, text)
    is(JSON.parse(text).security, 'no security')
    is((await fetch(`${keyed.base}/v1/sessions`)).status === 401, 'not 401')
    const r = await run(bin('redocly'), ['lint', keyedFile, '--extends=recommended', '--format=json'], {
      cwd: dir,
      env,
    })
    const out = JSON.parse(r.stdout.slice(r.stdout.indexOf('{')))
    is(!out.problems.some((p) => p.ruleId === 'security-defined'), 'security-defined')
    return JSON.stringify(out.totals)
  })
  if (key)
    await schemathesis(
      'with a key',
      keyed.base,
      join(dir, 'keyed.json'),
      ['-H', `Authorization: Bearer ${key}`, '--phases', 'examples,coverage'],
      Number(argument('keyed-seconds', '120')),
    )
  await keyed.stop()
}
await finish('openapi', served.stop, model.close)
