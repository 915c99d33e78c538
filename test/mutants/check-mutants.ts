import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { LISTS, mutated } from './mutants.ts'
import type { Suite } from './mutants.ts'

/**
 * Puts one mutant after the other into a copy of the tree and asks its suites: `npm run mutants -- --only 'lease-keeper'`.
 * `--list`: says only which texts no longer stand where they should.
 */
const { values } = parseArgs({
  options: { only: { type: 'string', multiple: true, default: [] }, list: { type: 'boolean', default: false } },
})
const ROOT = resolve(import.meta.dirname, '../..')
const COPIED = ['functions', 'test', 'bench', 'lib', 'bin', 'lint', 'scripts', 'docs']
const FILES = [
  'package.json',
  'tsconfig.json',
  'vitest.config.ts',
  'vitest.engines.config.ts',
  'vitest.shared.config.ts',
]
const LONGEST_MS = 600_000

const wanted = LISTS.flatMap(({ mutants, suites }) => mutants.map((mutant) => ({ mutant, suites }))).filter(
  ({ mutant }) => values.only.length === 0 || values.only.some((text) => mutant.name.includes(text)),
)

function copyTree(): string {
  const copy = mkdtempSync(join(tmpdir(), 'tooltrail-mutants-'))
  for (const name of [...COPIED, ...FILES]) cpSync(join(ROOT, name), join(copy, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

/** What the suite says that notices; undefined when it does not. */
function noticed(copy: string, { name, command }: Suite): string | undefined {
  const [program = '', ...args] = command
  const started = program === 'node' ? process.execPath : join(copy, 'node_modules', '.bin', program)
  const run = spawnSync(started, args, {
    cwd: copy,
    encoding: 'utf8',
    timeout: LONGEST_MS,
    env: { ...process.env, NO_COLOR: '1' },
  })
  if (run.status === 0) return undefined
  const why = `${run.stdout}\n${run.stderr}`.split('\n').find((line) => /^seed \d+:| FAIL |^\s*×/.test(line))
  return `${name}: ${run.error === undefined ? (why ?? 'failed').trim().slice(0, 160) : 'not within its time'}`
}

let survived = 0
const copy = values.list ? ROOT : copyTree()
for (const { mutant, suites } of wanted) {
  let text: string
  try {
    text = mutated(ROOT, mutant)
  } catch (error) {
    console.log(`${(error as Error).message}`)
    process.exitCode = 1
    continue
  }
  if (values.list) continue
  const begun = performance.now()
  writeFileSync(join(copy, mutant.file), text)
  let by: string | undefined
  for (const suite of suites) if ((by ??= noticed(copy, suite)) !== undefined) break
  cpSync(join(ROOT, mutant.file), join(copy, mutant.file))
  if (by === undefined) survived++
  console.log(
    `${by === undefined ? 'SURVIVED' : 'noticed'} | ${mutant.name} | ${by ?? ''} | ${((performance.now() - begun) / 1000).toFixed(0)} s`,
  )
}
if (!values.list) rmSync(copy, { recursive: true, force: true })
console.log(`${wanted.length} mutants, ${survived} survived`)
if (survived > 0) process.exitCode = 1
