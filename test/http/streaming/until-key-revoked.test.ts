import { expect, test } from 'vitest'
import type { Caller } from '../../../functions/access/caller.ts'
import { whileKeyLasts } from '../../../functions/http/streaming/until-key-revoked.ts'

const CALLER: Caller = { tenant: 't', scopes: ['read'] }

/** Returns a file of two chunks, and a `state` that records how its stream is used. */
function open() {
  const revoked = new AbortController()
  const state = { opened: 0, closed: 0, read: 0, ended: false }
  const watch = () => {
    state.opened++
    return { signal: revoked.signal, close: async () => void state.closed++ }
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

test('a file is sent completely, and its request is closed after the last chunk', async () => {
  const { pieces, state } = open()
  expect(state.opened).toBe(0)
  expect([(await pieces.next()).value, (await pieces.next()).value]).toEqual([new Uint8Array([0]), new Uint8Array([1])])
  expect((await pieces.next()).done).toBe(true)
  expect(state).toEqual({ opened: 1, closed: 1, read: 2, ended: true })
})

test('a file is aborted when its key is revoked, and is read no further', async () => {
  const { pieces, state, revoke } = open()
  await pieces.next()
  revoke()
  await expect(pieces.next()).rejects.toThrow('revoked')
  expect(state).toEqual({ opened: 1, closed: 1, read: 0, ended: true })
})

test('an open stream ends when its client leaves', async () => {
  const { pieces, state } = open()
  await pieces.next()
  await pieces.return()
  expect(state).toMatchObject({ opened: 1, closed: 1, ended: true })
})
