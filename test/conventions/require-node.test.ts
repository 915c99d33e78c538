/* Evidence, house: An unsupported Node version and missing packages are each reported in one line. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const guard = join(ROOT, 'scripts/require-node.mjs')
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: { readonly [name: string]: string }
}

/** Runs a guard on this Node, with `process.version` set to `version`. */
function runAs(version: string, script = guard) {
  const disguise = `Object.defineProperties(process, {
    version: { value: 'v${version}' }, versions: { value: { node: '${version}' } } })`
  return spawnSync(
    process.execPath,
    [
      '--import',
      `data:text/javascript,${encodeURIComponent(disguise)}`,
      '--import',
      script,
      '-e',
      'console.log("went on")',
    ],
    { encoding: 'utf8' },
  )
}

test.each(['20.20.2', '22.18.0', '23.0.0', '24.0.0', '24.6.0'])(
  'on Node %s a command prints one line with the problem and the fix, and runs nothing',
  (old) => {
    const { status, stdout, stderr } = runAs(old)
    expect(status).toBe(1)
    expect(stdout).toBe('')
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(new RegExp(`Node 24\\.7 or newer, .*v${old}.*Run: npm ci --include=optional`)),
    ])
  },
)

test.each(['24.7.0', '24.21.0', '25.0.0', '26.1.0'])('on Node %s the program continues', (fit) => {
  expect(runAs(fit)).toMatchObject({ status: 0, stdout: 'went on\n', stderr: '' })
})

describe('a tree without installed packages', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tooltrail-bare-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  cpSync(join(ROOT, 'scripts'), join(folder, 'scripts'), { recursive: true })
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'))

  // `install.test.ts` checks that each npm script begins with one of these two guards.
  test.each([
    ['20.20.2', 'require-node.mjs'],
    ['24.21.0', 'require-node.mjs'],
    ['20.20.2', 'require-everything.mjs'],
    ['24.21.0', 'require-everything.mjs'],
  ])('makes a command print one line and run nothing: on Node %s, %s', (version, name) => {
    const { status, stdout, stderr } = runAs(version, join(folder, 'scripts', name))
    expect([status, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/^Packages [^\n]* are not installed, [^\n]* Run: npm ci\n$/)
  })
})

describe('the check of the Node version precedes', () => {
  // The check is no `prestart` script, because npm skips such scripts if `ignore-scripts` is set.
  test.each(['start', 'dev', 'keys', 'rebuild', 'status', 'redrive', 'slack', 'webhook', 'import', 'smoke'])(
    'npm run %s',
    (name) => {
      expect(scripts[name]).toMatch(/^(exec )?node --import \.\/scripts\/require-node\.mjs /)
    },
  )
})
