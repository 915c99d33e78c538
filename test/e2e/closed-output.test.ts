/* Evidence, durability: The program continues when its output is closed. */
/*
 * The program and its commands continue after the reader of their output (a pager, `tee` or a log shipper) has ended. The
 * program still stops gracefully on SIGTERM.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Place } from './backend/backend.ts'
import { createClient } from './backend/client.ts'
import { localBackend } from './backend/local-backend.ts'

const START_MS = 180_000

let place: Place
beforeEach(async () => void (place = await localBackend.open()))
afterEach(() => place.remove())

async function start(model: string) {
  const env = { ...process.env, ...place.env, PORT: '0', LOG_LEVEL: 'info', MODEL: model, ANTHROPIC_API_KEY: '' }
  const entry = ['--import', './scripts/require-node.mjs', 'functions/handlers/local.ts']
  const child = spawn(process.execPath, entry, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  child.stderr.resume()
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  await expect.poll(() => output, { timeout: START_MS }).toContain('listens on')
  return { child, ended, client: createClient(/http:\/\/[\d.:]+/.exec(output)?.[0] ?? '') }
}

test('a program whose output is read exits with 0 on SIGTERM', async () => {
  const { child, ended } = await start('demo/demo')
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
})

test('a program exits with 0 on SIGTERM after its standard output was closed', async () => {
  const { child, ended } = await start('demo/demo')
  child.stdout.destroy()
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
})

test('a program exits with 0 on SIGTERM after a warning to a closed standard error', async () => {
  const { child, ended, client } = await start('anthropic/claude-x')
  child.stderr.destroy()
  // A run logs a warning if its model has no key.
  await client.send('POST', '/v1/sessions', { id: 's' }).catch(() => undefined)
  await client.send('POST', '/v1/sessions/s/messages', { content: 'hello' }).catch(() => undefined)
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
})

test.each(['keys', 'rebuild', 'redrive', 'slack', 'webhook', 'import', 'smoke'])(
  '%s ends without an error after its standard output was closed',
  async (command) => {
    const child = spawn(process.execPath, ['functions/cli/tooltrail.ts', command, '--help'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child.stdout.destroy()
    const [errors, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
    expect([code, errors]).toEqual([0, ''])
  },
)
