import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, rmSync } from 'node:fs'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'tooltrail-streams-'))
afterAll(() => rmSync(folder, { recursive: true }))

function start(words: readonly string[], stdout: number | 'pipe' = 'pipe', env = {}) {
  return spawn(process.execPath, ['scripts/tooltrail.mjs', ...words], {
    env: { ...process.env, TOOLTRAIL_URL: '', TOOLTRAIL_DATA: folder, MODEL: 'demo/demo', ...env },
    stdio: ['ignore', stdout, 'pipe'],
  })
}

describe('tooltrail', { timeout: 120_000 }, () => {
  test('goes on to the end of its run when whoever reads standard error leaves', async () => {
    const child = start(['chat', '-p', 'use current_time with {"timezone": "UTC"}'])
    child.stderr?.destroy()
    const [out, [code]] = await Promise.all([text(child.stdout ?? Readable.from([])), once(child, 'exit')])
    expect([code, out]).toEqual([0, expect.stringContaining('current_time said')])
  })

  test.runIf(process.platform === 'linux')('says in one line that its output cannot be written', async () => {
    const child = start(['chat', '-p', 'hello'], openSync('/dev/full', 'w'))
    const [error, [code]] = await Promise.all([text(child.stderr ?? Readable.from([])), once(child, 'exit')])
    expect([code, error]).toEqual([1, 'Standard output cannot be written to: ENOSPC: no space left on device, write\n'])
  })

  test('says which sessions a command of the data folder is about where the variable names a program', async () => {
    const env = { TOOLTRAIL_URL: 'http://127.0.0.1:9' }
    const child = start(['keys', 'list'], 'pipe', env)
    const [error, [code]] = await Promise.all([text(child.stderr ?? Readable.from([])), once(child, 'exit')])
    expect([code, error]).toEqual([
      0,
      'keys is about the data folder of this machine, not about TOOLTRAIL_URL; name an environment with --env\n',
    ])
  })
})
