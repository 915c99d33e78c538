/*
 * The program continues where its output is no longer read (its pager, `tee` or log shipper has ended), and ends in order on SIGTERM.
 * Today the next line that it writes ends it with an unhandled EPIPE: runs are cut off, and their leases stay.
 *
 * Suite: test/e2e/
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Place } from '../e2e/backend/backend.ts'
import { createClient } from '../e2e/backend/client.ts'
import { localBackend } from '../e2e/backend/local-backend.ts'

const START_MS = 60_000

let place: Place
beforeEach(async () => void (place = await localBackend.open()))
afterEach(() => place.remove())

async function start(model: string) {
  const env = { ...process.env, ...place.env, PORT: '0', LOG_LEVEL: 'info', MODEL: model, ANTHROPIC_API_KEY: '' }
  const entry = ['--import', './scripts/require-node.mjs', 'functions/handlers/local.ts']
  const child = spawn(process.execPath, entry, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  child.stderr.resume()
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
  await expect.poll(() => text, { timeout: START_MS }).toContain('listens on')
  return { child, ended, client: createClient(/http:\/\/[\d.:]+/.exec(text)?.[0] ?? '') }
}

test('a program whose output is read ends with 0 on SIGTERM', async () => {
  const { child, ended } = await start('demo/demo')
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
})

test.fails('a program ends with 0 on SIGTERM after its standard output was closed', async () => {
  const { child, ended } = await start('demo/demo')
  child.stdout.destroy()
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
})

test.fails('a program ends with 0 on SIGTERM after a warning to a closed standard error', async () => {
  const { child, ended, client } = await start('anthropic/claude-x')
  child.stderr.destroy()
  // A run of a model without a key writes to the log.
  await client.send('POST', '/v1/sessions', { id: 's' }).catch(() => undefined)
  await client.send('POST', '/v1/sessions/s/messages', { content: 'hello' }).catch(() => undefined)
  child.kill('SIGTERM')
  expect(await ended).toEqual([0, null])
})
