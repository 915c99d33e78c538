import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const guard = join(ROOT, 'scripts/require-node.mjs')
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  scripts: { readonly [name: string]: string }
}

/** Runs the guard on this Node, which it takes for another version. */
function runAs(version: string) {
  const disguise = `Object.defineProperties(process, {
    version: { value: 'v${version}' }, versions: { value: { node: '${version}' } } })`
  return spawnSync(
    process.execPath,
    [
      '--import',
      `data:text/javascript,${encodeURIComponent(disguise)}`,
      '--import',
      guard,
      '-e',
      'console.log("went on")',
    ],
    { encoding: 'utf8' },
  )
}

test.each(['20.20.2', '22.18.0', '23.0.0'])(
  'on Node %s one line says what is wrong and what to do, and nothing runs',
  (old) => {
    const { status, stdout, stderr } = runAs(old)
    expect(status).toBe(1)
    expect(stdout).toBe('')
    expect(stderr.trimEnd().split('\n')).toEqual([
      expect.stringMatching(new RegExp(`v${old}.*Run: npm ci --include=optional`)),
    ])
  },
)

test.each(['24.0.0', '24.21.0', '26.1.0'])('on Node %s the program goes on', (fit) => {
  expect(runAs(fit)).toMatchObject({ status: 0, stdout: 'went on\n', stderr: '' })
})

describe('the guard stands before', () => {
  // Not as `prestart`: npm skips those where scripts are blocked.
  test.each(['start', 'dev', 'keys', 'rebuild', 'status', 'redrive'])('npm run %s', (name) => {
    expect(scripts[name]).toMatch(/^(exec )?node --import \.\/scripts\/require-node\.mjs /)
  })
})
