import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const SIMULATE = 'audit/simulator/simulate.ts'
const MUTANTS = 'audit/mutants/check-mutants.ts'
const SCHEDULES = 'audit/exploration/explore-sqlite-schedules.ts'
const GUARDS = 'audit/exploration/explore-guards.ts'
const ASSURANCE = 'audit/assurance/assurance.ts'

const run = (program: string, ...words: readonly string[]) =>
  spawnSync(process.execPath, [join(ROOT, program), ...words], { encoding: 'utf8', cwd: ROOT })

test.each([SIMULATE, MUTANTS, SCHEDULES, GUARDS, ASSURANCE])('%s prints its usage', (program) => {
  const { status, stdout } = run(program, '--help')
  expect(status).toBe(0)
  expect(stdout).toContain(program === SIMULATE ? '--seeds <number>' : '[--')
})

test.each([
  [SIMULATE, '--seeds', 'abc'],
  [SIMULATE, '--seeds', '0'],
  [SIMULATE, '--seeds=-3'],
  [SIMULATE, '--seeds', '1.5'],
  [SIMULATE, '--seeds', '1e99'],
  [SIMULATE, '--from', 'x'],
  [SIMULATE, '--seed', ''],
  [SIMULATE, '--seed', '3', '--seeds', '4'],
  [SIMULATE, '--store', 'paper'],
  [SIMULATE, '--unknown'],
  [MUTANTS, '--only', 'no such mutant'],
  [MUTANTS, '--only'],
  [SCHEDULES, '--schedules', 'many'],
  [GUARDS, '--guard', 'no such guard'],
  [ASSURANCE, '--only', 'no such part'],
])('%s reports a mistake in one line and does nothing: %s %s', (program, ...words) => {
  const { status, stdout, stderr } = run(program, ...words)
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
  expect(stderr.trim()).toMatch(/^[^\n]*(\n[^\n]*)? Run with --help to see what it takes\.$/)
})
