/* Evidence, deliveries: Socket Mode continues after a closed, refreshed or silent connection, and does not delay a
 * stop. */
/* Evidence, limits: Huge JSON and floods of messages, from MCP servers or Socket Mode, do not block other work. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import { listenOnSocket } from '../../../../functions/channels/slack/inbound/socket-mode.ts'
import type { Clock } from '../../../../functions/ports/clock.ts'
import { startSocketServer } from '../../../slack-server/socket-server.ts'
import type { SocketServer } from '../../../slack-server/socket-server.ts'

let server: SocketServer
let stopping: AbortController
let listening: Promise<void>
let taken: unknown[]
let fail: boolean
let hold: PromiseWithResolvers<void> | undefined
beforeEach(async () => {
  server = await startSocketServer()
  stopping = new AbortController()
  taken = []
  fail = false
  hold = undefined
})
afterEach(async () => {
  hold?.resolve()
  stopping.abort()
  await listening
  await server.close()
})

function listen(allowedHosts: readonly string[] = [server.host], clock: Clock = createSystemClock()): string[] {
  const warnings: string[] = []
  const take = async (payload: unknown): Promise<void> => {
    await hold?.promise
    if (fail) throw new Error('the storage does not respond')
    taken.push(payload)
  }
  const logger = {
    info: () => undefined,
    warn: (text: string, fields?: object) => void warnings.push(text + JSON.stringify(fields)),
    error: () => undefined,
  }
  const api = { call: async () => ({ ok: true, url: server.url }) }
  const parts = { api, allowedHosts, clock, logger, takeEvent: take, takeInteraction: take }
  listening = listenOnSocket(parts, 'xapp-1', stopping.signal)
  return warnings
}

/** Creates a clock whose waits end only through `pass`, the newest wait first. */
function heldClock(): { readonly clock: Clock; pass(): number | undefined } {
  const waits: { readonly milliseconds: number; readonly end: () => void }[] = []
  let passed = 0
  const sleep: Clock['sleep'] = (milliseconds, signal) =>
    new Promise((end, reject) => {
      const wait = { milliseconds, end }
      waits.push(wait)
      signal?.addEventListener('abort', () => {
        if (waits.includes(wait)) waits.splice(waits.indexOf(wait), 1)
        reject(signal.reason as Error)
      })
    })
  return {
    clock: { now: () => Date.now() + passed, sleep },
    pass() {
      const wait = waits.pop()
      passed += wait?.milliseconds ?? 0
      wait?.end()
      return wait?.milliseconds
    },
  }
}

const opened = (count: number): Promise<void> => expect.poll(() => server.opened()).toBe(count)

test('events and buttons are accepted, and acknowledged once they are durable', async () => {
  const warnings = listen()
  await opened(1)
  server.send({ type: 'hello' })
  server.send({ type: 'events_api', envelope_id: 'e1', payload: { type: 'event_callback', long: 'x'.repeat(5_000) } })
  server.send({ type: 'interactive', envelope_id: 'e2', payload: { type: 'block_actions' } })
  await expect.poll(() => server.received).toEqual([{ envelope_id: 'e1' }, { envelope_id: 'e2' }])
  expect(taken).toMatchObject([{ type: 'event_callback' }, { type: 'block_actions' }])
  expect(warnings).toEqual([])
})

test('an event that could not be stored is not acknowledged, so that Slack sends it again', async () => {
  const warnings = listen()
  await opened(1)
  fail = true
  server.send({ type: 'events_api', envelope_id: 'e1', payload: {} })
  await expect.poll(() => warnings).toHaveLength(1)
  fail = false
  server.send({ type: 'events_api', envelope_id: 'e1', payload: {}, retry_attempt: 1 })
  await expect.poll(() => server.received).toEqual([{ envelope_id: 'e1' }])
})

test.each([
  [
    'more values than are parsed',
    `{"type":"x","envelope_id":"e0","payload":[${'0,'.repeat(1_000_000)}0]}`,
    '100,000 values',
  ],
  [
    'JSON that is too deep',
    `{"type":"x","envelope_id":"e0","payload":${'['.repeat(100)}${']'.repeat(100)}}`,
    '64 deep',
  ],
  [
    'more than a message may have',
    `{"type":"x","envelope_id":"e0","payload":"${'x'.repeat(5_000_000)}"}`,
    '4194304 characters',
  ],
])('a message with %s is dropped with a warning, and the next message is accepted', async (_, text, said) => {
  const warnings = listen()
  await opened(1)
  server.sendText(text)
  await expect.poll(() => warnings[0]).toContain(said)
  server.send({ type: 'events_api', envelope_id: 'e1', payload: {} })
  await expect.poll(() => server.received).toEqual([{ envelope_id: 'e1' }])
})

test('a connection that sends more than can be stored is closed, and a new one is opened', async () => {
  hold = Promise.withResolvers<void>()
  const warnings = listen()
  await opened(1)
  for (let sent = 0; sent < 20; sent++)
    server.send({ type: 'events_api', envelope_id: `e${sent}`, payload: { long: 'x'.repeat(2_000_000) } })
  await opened(2)
  expect(warnings[0]).toContain('more came over Slack’s socket than can be stored')
  hold.resolve()
  server.send({ type: 'events_api', envelope_id: 'again', payload: {} })
  await expect.poll(() => server.received).toContainEqual({ envelope_id: 'again' })
})

/** Waits for connection number `count`, and lets Slack close it after this many milliseconds. */
async function livesFor(milliseconds: number, count: number, time: { at: number }): Promise<void> {
  await opened(count)
  time.at += milliseconds
  server.send({ type: 'disconnect', reason: 'refresh_requested' })
}

test('when Slack announces the end of a long-lived connection, a new connection is opened at once', async () => {
  const { clock, pass } = heldClock()
  const time = { at: 1_000_000 }
  const warnings = listen([server.host], { ...clock, now: () => time.at })
  await livesFor(30_000, 1, time)
  await livesFor(3_600_000, 2, time)
  await opened(3)
  expect(warnings).toEqual([])
  // The newest wait is the silence timeout of the third connection, not a backoff.
  await expect.poll(pass).toBe(90_000)
})

test('reconnection backs off while connections end early, and resets after a connection lasted 30 s', async () => {
  const { clock, pass } = heldClock()
  const time = { at: 1_000_000 }
  const warnings = listen([server.host], { ...clock, now: () => time.at })
  for (const [count, pause] of [1_000, 2_000, 4_000].entries()) {
    await livesFor(29_999, count + 1, time)
    await expect.poll(() => warnings).toHaveLength(count + 1)
    expect(pass()).toBe(pause)
  }
  expect(warnings[2]).toContain('it was over after 29999 ms (Slack says refresh_requested)')
  await livesFor(30_000, 4, time)
  await livesFor(0, 5, time)
  await expect.poll(() => warnings).toHaveLength(4)
  expect(pass()).toBe(1_000)
})

test('events are accepted as before after a reconnection', async () => {
  listen()
  await opened(1)
  server.send({ type: 'disconnect', reason: 'refresh_requested' })
  await opened(2)
  server.send({ type: 'events_api', envelope_id: 'e1', payload: {} })
  await expect.poll(() => server.received).toEqual([{ envelope_id: 'e1' }])
})

test('a silent connection is replaced after a timeout, whether or not the connection closes', async () => {
  const { clock, pass } = heldClock()
  listen([server.host], clock)
  await opened(1)
  server.send({ type: 'events_api', envelope_id: 'e1', payload: {} })
  await expect.poll(() => server.received).toHaveLength(1)
  server.hang()
  expect(pass()).toBe(90_000)
  await opened(2)
})

test('a ping restarts the silence timeout', async () => {
  const { clock } = heldClock()
  const waits: number[] = []
  const sleep: Clock['sleep'] = (milliseconds, signal) => {
    waits.push(milliseconds)
    return clock.sleep(milliseconds, signal)
  }
  listen([server.host], { ...clock, sleep })
  await opened(1)
  await expect.poll(() => waits).toEqual([10_000, 90_000])
  server.ping()
  await expect.poll(() => waits).toEqual([10_000, 90_000, 90_000])
  expect(server.opened()).toBe(1)
})

test('a connection that does not open, or stays silent, is replaced with a warning and increasing backoff', async () => {
  const { clock, pass } = heldClock()
  server.hang()
  const warnings = listen([server.host], clock)
  for (const [attempt, pause] of [1_000, 2_000, 4_000].entries()) {
    await opened(attempt + 1)
    expect(pass()).toBe(10_000)
    await expect.poll(() => warnings).toHaveLength(attempt + 1)
    expect(pass()).toBe(pause)
  }
  expect(warnings[0]).toContain('nothing came over it')
})

test('a shutdown does not wait for a dead connection', async () => {
  listen()
  await opened(1)
  server.hang()
  hold?.resolve()
  stopping.abort()
  expect(await Promise.race([listening.then(() => 'stopped'), sleep(20_000, 'waits')])).toBe('stopped')
})

test('an unencrypted address is rejected, unless its host is allowed', async () => {
  const warnings = listen([])
  await expect.poll(() => warnings[0]).toContain('must be https')
  expect(server.opened()).toBe(0)
})
