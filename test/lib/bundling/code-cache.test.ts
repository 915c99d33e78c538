import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bundleHandler } from '../../../lib/bundle.ts'
import { addCodeCache } from '../../../lib/code-cache.ts'

const folder = mkdtempSync(join(tmpdir(), 'tooltrail-cached-'))
const bundle = join(folder, 'bundle')

beforeAll(async () => {
  await bundleHandler('sweeper', bundle)
  addCodeCache(bundle)
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Copies the bundle to the place that it has on Lambda, below another root. */
function deploy(name: string): { readonly task: string; readonly links: string } {
  const task = join(folder, name, 'var/task')
  cpSync(bundle, task, { recursive: true })
  mkdirSync(join(folder, name, 'tmp'))
  return { task, links: join(folder, name, 'tmp/code-cache') }
}

/** Starts the deployed bundle. Returns what it and Node's compile cache print. */
function start(task: string): string {
  const module = JSON.stringify(pathToFileURL(join(task, 'index.mjs')).href)
  const code = `const { handler } = await import(${module}); console.log('started:', typeof handler); process.exit()`
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
    env: {
      NODE_DEBUG_NATIVE: 'COMPILE_CACHE',
      AWS_REGION: 'eu-central-1',
      TOOLTRAIL_ENVIRONMENT: 'dev',
      TOOLTRAIL_TABLE: 'table',
      TOOLTRAIL_BUCKET: 'bucket',
      TOOLTRAIL_QUEUE_URL: 'https://sqs.eu-central-1.amazonaws.com/1/runs',
      TOOLTRAIL_FAILURES_BUCKET: 'failures',
    },
  })
  return stdout + stderr
}

const ACCEPTED = /V8 code cache for ESM .*main\.mjs was accepted/

describe('the code cache of a function', () => {
  test('is accepted from a read-only bundle, also by a restarted process', () => {
    const { task } = deploy('lambda')
    for (const file of readdirSync(task, { recursive: true, encoding: 'utf8' }))
      chmodSync(join(task, file), statSync(join(task, file)).isDirectory() ? 0o555 : 0o444)
    for (let process = 0; process < 2; process++) {
      expect(start(task)).toMatch(ACCEPTED)
      expect(start(task)).toContain('started: function')
    }
    for (const file of readdirSync(task, { recursive: true, encoding: 'utf8' }))
      if (statSync(join(task, file)).isDirectory()) chmodSync(join(task, file), 0o755)
  })

  test('is readable for every user', () => {
    const [version = ''] = readdirSync(join(bundle, 'cache'))
    const [entry = ''] = readdirSync(join(bundle, 'cache', version))
    expect(statSync(join(bundle, 'cache', version, entry)).mode & 0o444).toBe(0o444)
  })

  test('is ignored by another version of Node', () => {
    const { task, links } = deploy('other-version')
    const entry = join(task, 'index.mjs')
    writeFileSync(entry, readFileSync(entry, 'utf8').replace(process.version, 'v24.0.1'))
    expect(start(task)).toContain('started: function')
    expect(existsSync(links)).toBe(false)
  })

  test('is ignored if its content is damaged', () => {
    const { task } = deploy('damaged')
    const [version = ''] = readdirSync(join(task, 'cache'))
    const [entry = ''] = readdirSync(join(task, 'cache', version))
    const file = join(task, 'cache', version, entry)
    writeFileSync(file, readFileSync(file).fill(7, 2_000, 3_000))
    const output = start(task)
    expect(output).toContain('started: function')
    expect(output).not.toMatch(ACCEPTED)
  })

  test('is ignored if no folder for links can be created', () => {
    const { task } = deploy('no-tmp')
    rmSync(join(folder, 'no-tmp/tmp'), { recursive: true })
    const output = start(task)
    expect(output).toContain('started: function')
    expect(output).not.toMatch(ACCEPTED)
  })
})
