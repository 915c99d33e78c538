import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { readOptions } from '../../test/command-options.ts'
import { KNOWN_FAILURES_FILE, type KnownFailure } from './known-failures.ts'
import { PARTS, type Part } from './parts.ts'
import { updatePage, type Result } from './results.ts'

const USAGE = `Runs what takes too long for CI, one part after the other, and records the results in docs/assurance/results.md.

  npm run assurance -- [--only <part>]... [--list]

--list: prints the parts and their minutes. The output of a part is in .assurance/<part>.log. Parts need Java for the engines.
Exit code 1: a part failed, or a known failure holds now and is to be moved to its suite.
`
const ROOT = resolve(import.meta.dirname, '../..')
const LOGS = join(ROOT, '.assurance')
const PAGE = join(ROOT, 'docs/assurance/results.md')
/** Maximum length of a recorded outcome, in characters. */
const MAX_OUTCOME = 160

const { wanted, list } = readOptions(
  USAGE,
  { only: { type: 'string', multiple: true }, list: { type: 'boolean', default: false } },
  ({ only, list }) => {
    const unknown = only?.find((name) => PARTS.every((part) => part.name !== name))
    if (unknown !== undefined) throw new Error(`there is no part '${unknown}'; --list prints them`)
    return { wanted: PARTS.filter(({ name }) => only === undefined || only.includes(name)), list }
  },
)

interface Ended {
  readonly isGood: boolean
  readonly outcome: string
}

/**
 * Runs a part and writes its output to a log. Returns the output's last line or, for Vitest, the line with the number
 * of tests.
 */
async function run({ name, command: [program, ...args] }: Part): Promise<Ended> {
  const path = join(LOGS, `${name}.log`)
  const log = createWriteStream(path)
  await once(log, 'open')
  const started = program === 'node' ? process.execPath : join(ROOT, 'node_modules/.bin', program)
  const { CI: _, ...env } = process.env
  const child = spawn(started, args, {
    cwd: ROOT,
    env: { ...env, WHOLE: '1', NO_COLOR: '1' },
    stdio: ['ignore', log, log],
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  log.close()
  const lines = readFileSync(path, 'utf8').split('\n')
  const counted = lines.findLast((line) => /^\s*Tests\s+\d/.test(line)) ?? lines.findLast((line) => line.trim() !== '')
  return { isGood: code === 0, outcome: (counted ?? 'no output').trim().slice(0, MAX_OUTCOME) }
}

/** Reads the states that the reporter of known failures has stored. */
function readFailures(): KnownFailure[] {
  return JSON.parse(readFileSync(join(ROOT, KNOWN_FAILURES_FILE), 'utf8')) as KnownFailure[]
}

/** Counts the failures by state, for example `38 still fails, 1 holds now`. */
function countStates(failures: readonly KnownFailure[]): string {
  const byState = Map.groupBy(failures, ({ state }) => state)
  return [...byState].map(([state, all]) => `${all.length} ${state}`).join(', ')
}

function git(...argv: readonly string[]): string {
  return execFileSync('git', argv, { cwd: ROOT, encoding: 'utf8' }).trim()
}

const commit = (): string =>
  `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain', '--', '.', ':!docs/assurance') === '' ? '' : '+'}`

function record(result: Result, failures: readonly KnownFailure[] | undefined): void {
  mkdirSync(dirname(PAGE), { recursive: true })
  const page = existsSync(PAGE) ? readFileSync(PAGE, 'utf8') : ''
  writeFileSync(PAGE, updatePage(page, PARTS, [result], failures))
}

async function runAndRecord(part: Part): Promise<void> {
  console.log(`${part.name}: ${part.question} (some ${part.minutes} min)`)
  const start = performance.now()
  const { isGood, outcome } = await run(part)
  const failures = part.name === 'known-failures' ? readFailures() : undefined
  for (const { name, state } of failures ?? []) console.log(`  ${state.padEnd(18)} ${name}`)
  const minutes = Math.max(1, Math.round((performance.now() - start) / 60_000))
  const verdict = failures === undefined ? `${isGood ? '' : 'FAILED: '}${outcome}` : countStates(failures)
  console.log(`  ${verdict} (${minutes} min, .assurance/${part.name}.log)`)
  const date = new Date().toISOString().slice(0, 10)
  record({ part: part.name, outcome: verdict, date, commit: commit(), minutes }, failures)
  if (!isGood) process.exitCode = 1
}

if (list) for (const { name, minutes, question } of PARTS) console.log(`${name.padEnd(22)} ${minutes} min  ${question}`)
else {
  mkdirSync(LOGS, { recursive: true })
  for (const part of wanted) await runAndRecord(part)
}
