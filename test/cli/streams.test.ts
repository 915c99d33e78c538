import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, rmSync } from 'node:fs'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startOpenAiServer } from '../model-server/openai-server.ts'
import { afterAll, describe, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'tooltrail-streams-'))
afterAll(() => rmSync(folder, { recursive: true }))

function start(words: readonly string[], stdout: number | 'pipe' = 'pipe', env = {}) {
  return spawn(process.execPath, ['scripts/tooltrail.mjs', ...words], {
    env: { ...process.env, TOOLTRAIL_URL: '', TOOLTRAIL_DATA: folder, MODEL: 'demo/demo', ...env },
    stdio: ['ignore', stdout, 'pipe'],
  })
}

describe('tooltrail', () => {
  test('continues to the end of its run when the reader of standard error closes', async () => {
    const child = start(['chat', '-p', 'use current_time with {"timezone": "UTC"}'])
    child.stderr?.destroy()
    const [out, [code]] = await Promise.all([text(child.stdout ?? Readable.from([])), once(child, 'exit')])
    expect([code, out]).toEqual([0, expect.stringContaining('current_time said')])
  })

  test.runIf(process.platform === 'linux')('reports in one line that its output cannot be written', async () => {
    const child = start(['chat', '-p', 'hello'], openSync('/dev/full', 'w'))
    const [error, [code]] = await Promise.all([text(child.stderr ?? Readable.from([])), once(child, 'exit')])
    expect([code, error]).toEqual([1, 'Standard output cannot be written to: ENOSPC: no space left on device, write\n'])
  })

  test('hands its run off when its terminal closes', async () => {
    const model = await startOpenAiServer([
      { completion: { parts: [{ type: 'text', text: 'a completion that does not end' }] }, hangAfter: 3 },
      { completion: { parts: [{ type: 'text', text: 'a whole completion' }] } },
      { completion: { parts: [{ type: 'text', text: 'the next answer' }] } },
    ])
    const env = { MODEL: 'm', MODEL_BASE_URL: model.baseUrl }
    const child = start(['chat', '-p', 'hello'], 'pipe', env)
    child.stdout?.resume()
    await expect.poll(() => model.requests.length).toBe(1)
    child.kill('SIGHUP')
    const [code] = await once(child, 'exit')
    expect(code).toBe(129)
    const next = start(['chat', '--continue', '-p', 'and now?'], 'pipe', env)
    const out = await text(next.stdout ?? Readable.from([]))
    expect(out).toContain('the next answer')
    expect(model.requests).toHaveLength(3)
    await model.close()
  })

  test('warns that a command uses the data folder and ignores TOOLTRAIL_URL', async () => {
    const env = { TOOLTRAIL_URL: 'http://127.0.0.1:9' }
    const child = start(['keys', 'list'], 'pipe', env)
    const [error, [code]] = await Promise.all([text(child.stderr ?? Readable.from([])), once(child, 'exit')])
    expect([code, error]).toEqual([
      0,
      'keys is about the data folder of this machine, not about TOOLTRAIL_URL; name an environment with --env\nThere are no keys.\n',
    ])
  })
})
