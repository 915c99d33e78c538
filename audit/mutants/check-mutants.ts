import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { readOptions } from '../../test/command-options.ts'
import type { Mutant } from './mutant.ts'
import { LISTS, missingIn, mutated, suitesFor } from './mutants.ts'
import type { Suite } from './mutants.ts'

const USAGE = `Puts one mutant after the other into a copy of the tree, and asks its suites. Fails for one that nothing notices.

  npm run mutants -- [--only <part of a name>]... [--list]

--only: those whose names have this in them. --list: says only whose texts no longer stand where they should.
`
const { wanted, list } = readOptions(
  USAGE,
  { only: { type: 'string', multiple: true, default: [''] }, list: { type: 'boolean', default: false } },
  ({ only, list }) => {
    const all = LISTS.flatMap(({ mutants, suites }) =>
      mutants.map((mutant) => ({ mutant, suites: suitesFor(mutant, suites) })),
    )
    const none = only.find((text) => !all.some(({ mutant }) => mutant.name.includes(text)))
    if (none !== undefined) throw new Error(`no mutant has '${none}' in its name`)
    return { wanted: all.filter(({ mutant }) => only.some((text) => mutant.name.includes(text))), list }
  },
)
const ROOT = resolve(import.meta.dirname, '../..')
const COPIED = [
  'audit',
  'functions',
  'test',
  'bench',
  'lib',
  'bin',
  'lint',
  'scripts',
  'docs',
  'page',
  'build',
  'built',
]
const FILES = ['package.json', 'tsconfig.json', 'vitest.config.ts']
const RUN_TIMEOUT_MS = 600_000
/** Limit of a suite's output, in bytes. It is high, because an endless loop prints a large trace. */
const MAX_OUTPUT_BYTES = 256 * 1_024 * 1_024

function copyTree(): string {
  const copy = mkdtempSync(join(tmpdir(), 'tooltrail-mutants-'))
  for (const name of [...COPIED, ...FILES]) cpSync(join(ROOT, name), join(copy, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

/** Runs the suite. Returns the suite's name with its first failure; undefined if the suite passed. */
function noticed(copy: string, { name, command }: Suite): string | undefined {
  const [program = '', ...args] = command
  const started = program === 'node' ? process.execPath : join(copy, 'node_modules', '.bin', program)
  const run = spawnSync(started, args, {
    cwd: copy,
    encoding: 'utf8',
    timeout: RUN_TIMEOUT_MS,
    maxBuffer: MAX_OUTPUT_BYTES,
    env: { ...process.env, NO_COLOR: '1' },
  })
  if (run.status === 0) return undefined
  const isLate = run.error !== undefined && 'code' in run.error && run.error.code === 'ETIMEDOUT'
  if (run.error !== undefined && !isLate) throw run.error
  const why = `${run.stdout}\n${run.stderr}`.split('\n').find((line) => /^seed \d+:| FAIL |^\s*×/.test(line))
  return `${name}: ${run.error === undefined ? (why ?? 'failed').trim().slice(0, 160) : 'not within its time'}`
}

/** Throws if a suite already fails without a mutant. Such a suite cannot detect mutants. */
function requireHealthy(copy: string): void {
  const suites = new Map(wanted.flatMap((one) => one.suites).map((suite) => [suite.command.join(' '), suite]))
  for (const suite of suites.values()) {
    const why = noticed(copy, suite)
    if (why !== undefined) throw new Error(`without any mutant: ${why}`)
  }
}

/** Applies one mutant to the copy, runs the suites, and reverts it. Returns the suite that detected the mutant, if any. */
function ask(copy: string, mutant: Mutant, suites: readonly Suite[]): string | undefined {
  const path = join(copy, mutant.file)
  const before = readFileSync(path)
  writeFileSync(path, mutated(copy, mutant))
  try {
    for (const suite of suites) {
      const why = noticed(copy, suite)
      if (why !== undefined) return why
    }
    return undefined
  } finally {
    writeFileSync(path, before)
  }
}

const missing = wanted.flatMap(({ mutant }) => missingIn(ROOT, mutant) ?? [])
for (const why of missing) console.log(why)
let survived = 0
if (!list) {
  const copy = copyTree()
  requireHealthy(copy)
  for (const { mutant, suites } of wanted) {
    if (missingIn(copy, mutant) !== undefined) continue
    const begun = performance.now()
    const by = ask(copy, mutant, suites)
    if (by === undefined) survived++
    const seconds = ((performance.now() - begun) / 1000).toFixed(0)
    console.log(`${by === undefined ? 'SURVIVED' : 'noticed'} | ${mutant.name} | ${by ?? ''} | ${seconds} s`)
  }
  rmSync(copy, { recursive: true, force: true })
}
console.log(`${wanted.length} mutants, ${missing.length} no longer stand, ${survived} survived`)
if (survived + missing.length > 0) process.exitCode = 1
