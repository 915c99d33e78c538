import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import type { Caller } from '../../functions/access/caller.ts'
import { whileKeyLasts } from '../../functions/http/while-key-lasts.ts'
import { openHttpHarness } from './harness.ts'
import type { HttpHarness } from './harness.ts'

let harness: HttpHarness | undefined
afterEach(() => harness?.close())

const CALLER: Caller = { tenant: 't', scopes: ['read'] }

/** A file of two pieces, and what is known of its call. */
function open() {
  const revoked = new AbortController()
  const state = { opened: 0, closed: 0, read: 0, ended: false }
  const watch = () => {
    state.opened++
    return { signal: revoked.signal, close: () => void state.closed++ }
  }
  async function* file() {
    try {
      for (; state.read < 2; state.read++) yield new Uint8Array([state.read])
    } finally {
      state.ended = true
    }
  }
  return { pieces: whileKeyLasts({ watch }, CALLER, file()), state, revoke: () => revoked.abort() }
}

test('a file comes whole, and its call ends with it', async () => {
  const { pieces, state } = open()
  expect(state.opened).toBe(0)
  expect([(await pieces.next()).value, (await pieces.next()).value]).toEqual([new Uint8Array([0]), new Uint8Array([1])])
  expect((await pieces.next()).done).toBe(true)
  expect(state).toEqual({ opened: 1, closed: 1, read: 2, ended: true })
})

test('it breaks off when its key is revoked, and no more of it is read', async () => {
  const { pieces, state, revoke } = open()
  await pieces.next()
  revoke()
  await expect(pieces.next()).rejects.toThrow('revoked')
  expect(state).toEqual({ opened: 1, closed: 1, read: 0, ended: true })
})

test('a client that leaves ends its call', async () => {
  const { pieces, state } = open()
  await pieces.next()
  await pieces.return()
  expect(state).toMatchObject({ opened: 1, closed: 1, ended: true })
})

test('an export and a download under way end when their key is revoked', async () => {
  harness = await openHttpHarness({ script: [{ text: 'thanks' }] })
  const { program, ports } = harness
  const headers = await harness.key()
  await harness.send('POST', '/v1/sessions', { id: 'a' }, headers)
  const data = Buffer.alloc(2_000_000, 'x').toString('base64')
  const file = { type: 'file', media_type: 'application/octet-stream', filename: 'a.bin', data }
  const content = [{ type: 'text', text: 'y'.repeat(500_000) }, file]
  const run = await harness.send('POST', '/v1/sessions/a/messages', { content }, headers)
  const { messages } = (await run.json()) as { messages: { parts: { url?: string }[] }[] }
  const url = messages[0]?.parts[1]?.url ?? ''
  const readers = await Promise.all(
    ['/v1/sessions/a/export', url].map(async (path) => {
      const reader = (await program.app.request(`http://localhost:3000${path}`, { headers })).body?.getReader()
      expect((await reader?.read())?.done).toBe(false)
      return reader
    }),
  )
  await ports.keys.revoke('key_1', 1)
  // Within what is promised.
  await sleep(10_000)
  for (const reader of readers) await expect(reader?.read()).rejects.toThrow('revoked')
})
