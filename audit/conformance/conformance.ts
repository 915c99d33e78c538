import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { readOptions } from '../../test/command-options.ts'
import { writeCompatibility } from './compatibility.ts'
import type { SuiteResult } from './compatibility.ts'
import { SUITES } from './suites.ts'
import type { Suite } from './suites.ts'

const USAGE = `Runs the programs of other people against this one, and records the results in docs/reference/compatibility.md.

  npm run conformance -- [--only <suite>]... [--openresponses <folder>] [--fixtures <folder>] [--fuzz-seconds <n>]

--openresponses: a clone of openresponses/openresponses. --fixtures: a folder with one folder of session files for each repository.
Without these options, their suites are skipped. Packages are installed into the system's temporary folder, and need the registries
of npm and Python. The output of a suite is in .assurance/conformance-<suite>.log. Exit code 1: a check failed that must hold.
`
const ROOT = resolve(import.meta.dirname, '../..')
const RESULTS = join(import.meta.dirname, 'results.json')
const PAGE = join(ROOT, 'docs/reference/compatibility.md')
const LOGS = join(ROOT, '.assurance')
/** Time limit of one suite. */
const SUITE_TIMEOUT_MS = 1_800_000

const options = readOptions(
  USAGE,
  {
    only: { type: 'string', multiple: true },
    openresponses: { type: 'string' },
    fixtures: { type: 'string' },
    'fuzz-seconds': { type: 'string', default: '200' },
  },
  (values) => {
    const unknown = values.only?.find((name) => SUITES.every((suite) => suite.name !== name))
    if (unknown !== undefined) throw new Error(`there is no suite '${unknown}'`)
    return values
  },
)

const git = (...argv: readonly string[]): string => execFileSync('git', argv, { cwd: ROOT, encoding: 'utf8' }).trim()
const changes = git(
  'status',
  '--porcelain',
  '--',
  '.',
  ':!docs/reference/compatibility.md',
  ':!audit/conformance/results.json',
)
const commit = `${git('rev-parse', '--short', 'HEAD')}${changes === '' ? '' : '+'}`
const date = new Date().toISOString().slice(0, 10)

/** Returns the arguments of a suite; undefined if a folder is missing. */
function argumentsOf({ needs }: Suite): string[] | undefined {
  const seconds = ['--fuzz-seconds', options['fuzz-seconds'], '--keyed-seconds', options['fuzz-seconds']]
  if (needs === undefined) return seconds
  const folder = options[needs]
  if (folder === undefined) return undefined
  return needs === 'openresponses' ? ['--suite', resolve(folder)] : ['--fixtures', resolve(folder)]
}

/** Runs a suite. Returns its result; undefined if the suite ended without a result. */
async function run({ name }: Suite, argv: readonly string[]): Promise<SuiteResult | undefined> {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-results-'))
  const file = join(folder, 'results.json')
  try {
    const program = join(import.meta.dirname, `suites/${name}.mjs`)
    const child = spawn(process.execPath, [program, '--checkout', ROOT, '--results', file, ...argv], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: SUITE_TIMEOUT_MS,
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    await once(child, 'close')
    writeFileSync(join(LOGS, `conformance-${name}.log`), output)
    for (const line of output.split('\n')) if (line.startsWith('FAIL')) console.log(`  ${line.slice(0, 240)}`)
    console.log(output.trimEnd().split('\n').at(-1))
    if (!existsSync(file)) return undefined
    const { packages, checks } = JSON.parse(readFileSync(file, 'utf8')) as Pick<SuiteResult, 'packages' | 'checks'>
    return { suite: name, date, commit, packages, checks }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const results = new Map(
  (existsSync(RESULTS) ? (JSON.parse(readFileSync(RESULTS, 'utf8')) as SuiteResult[]) : []).map((one) => [
    one.suite,
    one,
  ]),
)
mkdirSync(LOGS, { recursive: true })
for (const suite of SUITES) {
  if (options.only?.includes(suite.name) === false) continue
  const argv = argumentsOf(suite)
  if (argv === undefined) {
    console.log(`${suite.name}: skipped, because --${suite.needs} is missing`)
    continue
  }
  const result = await run(suite, argv)
  if (result === undefined) process.exitCode = 1
  else {
    if (result.checks.some(({ held, expected }) => !held && expected === '')) process.exitCode = 1
    results.set(suite.name, result)
    // Each suite is recorded when it ends, so that an interrupted run keeps its results.
    const known = SUITES.flatMap(({ name }) => results.get(name) ?? [])
    writeFileSync(RESULTS, `[\n${known.map((one) => JSON.stringify(one)).join(',\n')}\n]\n`)
    writeFileSync(PAGE, writeCompatibility(readFileSync(PAGE, 'utf8'), SUITES, known))
  }
}
