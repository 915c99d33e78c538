import { afterEach, beforeEach, expect, test } from 'vitest'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import { listenOnSocket } from '../../../functions/channels/slack/arriving/socket-mode.ts'
import { startSocketServer } from '../../slack-server/socket-server.ts'
import type { SocketServer } from '../../slack-server/socket-server.ts'

let server: SocketServer
let stopping: AbortController
let listening: Promise<void>
let taken: unknown[]
let fail: boolean
beforeEach(async () => {
  server = await startSocketServer()
  stopping = new AbortController()
  taken = []
  fail = false
})
afterEach(async () => {
  stopping.abort()
  await listening
  await server.close()
})

function listen(allowedHosts: readonly string[] = [server.host]): string[] {
  const warnings: string[] = []
  const take = async (payload: unknown): Promise<void> => {
    if (fail) throw new Error('the storage does not respond')
    taken.push(payload)
  }
  const logger = {
    info: () => undefined,
    warn: (text: string, fields?: object) => void warnings.push(text + JSON.stringify(fields)),
    error: () => undefined,
  }
  const api = { call: async () => ({ ok: true, url: server.url }) }
  const parts = { api, allowedHosts, clock: createSystemClock(), logger, takeEvent: take, takeInteraction: take }
  listening = listenOnSocket(parts, 'xapp-1', stopping.signal)
  return warnings
}

const opened = (count: number): Promise<void> => expect.poll(() => server.opened()).toBe(count)

test('events and buttons are taken, and acknowledged once they are durable', async () => {
  const warnings = listen()
  await opened(1)
  server.send({ type: 'hello' })
  server.send({ type: 'events_api', envelope_id: 'e1', payload: { type: 'event_callback', long: 'x'.repeat(5_000) } })
  server.send({ type: 'interactive', envelope_id: 'e2', payload: { type: 'block_actions' } })
  await expect.poll(() => server.received).toEqual([{ envelope_id: 'e1' }, { envelope_id: 'e2' }])
  expect(taken).toMatchObject([{ type: 'event_callback' }, { type: 'block_actions' }])
  expect(warnings).toEqual([])
})

test('what could not be stored is not acknowledged: Slack sends it again', async () => {
  const warnings = listen()
  await opened(1)
  fail = true
  server.send({ type: 'events_api', envelope_id: 'e1', payload: {} })
  await expect.poll(() => warnings).toHaveLength(1)
  fail = false
  server.send({ type: 'events_api', envelope_id: 'e1', payload: {}, retry_attempt: 1 })
  await expect.poll(() => server.received).toEqual([{ envelope_id: 'e1' }])
})

test('when Slack is about to close a connection, the next is opened', async () => {
  listen()
  await opened(1)
  server.send({ type: 'disconnect', reason: 'refresh_requested' })
  await opened(2)
  server.send({ type: 'events_api', envelope_id: 'e1', payload: {} })
  await expect.poll(() => server.received).toEqual([{ envelope_id: 'e1' }])
})

test('an address that is not encrypted is refused, unless its host is allowed', async () => {
  const warnings = listen([])
  await expect.poll(() => warnings[0]).toContain('must be https')
  expect(server.opened()).toBe(0)
})
