import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import { keepLease, RunCancelled } from '../../../../functions/agent/loop/writer/lease-keeper.ts'
import type { LeaseKeeper } from '../../../../functions/agent/loop/writer/lease-keeper.ts'
import { LeaseLost } from '../../../../functions/domain/errors.ts'
import { HEARTBEAT_MS, LEASE_MS } from '../../../../functions/domain/session.ts'
import type { Lease, SessionHeader } from '../../../../functions/domain/session.ts'
import type { Clock } from '../../../../functions/ports/clock.ts'
import type { RunLease } from '../../../../functions/ports/run-lease.ts'
import { until } from '../../../eventually.ts'

/** Factor by which waits are shorter. */
const HASTE = 100
const system = createSystemClock()
/** Time that moves only where the test advances it, so a slow machine loses no lease. */
const START = Date.UTC(2026, 0, 5)
let ahead = 0
const clock = {
  now: () => START + ahead,
  sleep: (milliseconds: number, signal?: AbortSignal) => system.sleep(milliseconds / HASTE, signal),
}
const logger = { info: () => undefined, warn: () => undefined, error: () => undefined }
let keeper: LeaseKeeper | undefined
beforeEach(() => {
  ahead = 0
})
afterEach(() => {
  keeper?.stop()
  vi.useRealTimers()
})

const never = (): Promise<never> => new Promise(() => undefined)
const down = (): Promise<never> => Promise.reject(new Error('the store is down'))

/** Creates a keeper of a one-minute lease. Methods that the test does not pass never respond. */
function keep(given: Partial<RunLease> = {}, by: Clock = clock): LeaseKeeper {
  const lease: Lease = { ...mine, generation: 3, owner: 'o', runId: 'r', until: by.now() + 60_000, head: undefined }
  const silent = {
    readHeader: never,
    readHeaderEventually: never,
    start: never,
    take: never,
    claim: never,
    heartbeat: never,
    release: never,
  }
  keeper = keepLease({ lease: { ...silent, ...given }, clock: by, logger }, lease)
  return keeper
}

const mine = { tenant: 't', session: 's' }
const counts = { paused: false, waiting: 0, queued: 0, takeovers: 0 }
const header = (change: Partial<SessionHeader> = {}): SessionHeader => ({
  ...mine,
  ...counts,
  status: 'live',
  generation: 3,
  activeRun: 'r',
  ...change,
})

const stopped = ({ signal }: LeaseKeeper): Promise<unknown> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(signal.reason))
  })
const isKept = async ({ signal }: LeaseKeeper): Promise<boolean> => {
  await system.sleep(50)
  return !signal.aborted
}

test('a successful heartbeat extends the lease', async () => {
  const beats: number[] = []
  const kept = keep({ heartbeat: async (_, until) => void beats.push(until) })
  ahead = 40_000
  await until(() => (beats.at(-1) ?? 0) >= START + 40_000 + 60_000)
  ahead = 80_000
  expect(kept.check).not.toThrow()
  expect(await isKept(kept)).toBe(true)
})

test.each<[string, SessionHeader | undefined]>([
  ['another process holds the session', header({ generation: 4 })],
  ['the session is deleted', header({ status: 'deleted' })],
  ['the session no longer exists', undefined],
])('work stops when %s', async (_, seen) => {
  expect(await stopped(keep({ readHeader: async () => seen }))).toBeInstanceOf(LeaseLost)
})

test('work stops when a heartbeat is refused', async () => {
  expect(await stopped(keep({ heartbeat: () => Promise.reject(new LeaseLost('s', 3)) }))).toBeInstanceOf(LeaseLost)
})

test('work stops for a cancel of its own run only', async () => {
  const other = { cancel: { run: 'other', reason: 'user' } } as const
  expect(await isKept(keep({ readHeader: async () => header(other) }))).toBe(true)
  const own = { cancel: { run: 'r', reason: 'superseded' } } as const
  const reason = await stopped(keep({ readHeader: async () => header(own) }))
  expect(reason).toBeInstanceOf(RunCancelled)
  expect(reason).toMatchObject({ reason: 'superseded' })
})

test('failed reads of the header do not stop the work', async () => {
  expect(await isKept(keep({ readHeader: down, heartbeat: async () => undefined }))).toBe(true)
})

test.each([
  ['continues long after its timeout', (kept: LeaseKeeper) => void kept.startWatchdog(20_000)],
  ['has ended, without new work', (kept: LeaseKeeper) => kept.startWatchdog(20_000)()],
])('a lease is not extended for work that %s', async (_, begin) => {
  const beats: number[] = []
  const kept = keep({ heartbeat: async (__, end) => void beats.push(end) })
  begin(kept)
  for (const seconds of [20, 30]) {
    ahead = seconds * 1_000
    await until(() => (beats.at(-1) ?? 0) >= START + ahead + 60_000)
  }
  expect(kept.signal.aborted).toBe(false)
  ahead = 51_000
  await until(() => kept.signal.aborted || (beats.at(-1) ?? 0) >= START + ahead + 60_000)
  expect(kept.signal.reason).toMatchObject({ name: 'LeaseLost', cause: { message: 'the work is stalled' } })
})

test('work that makes progress holds its lease, however long it takes', async () => {
  const beats: number[] = []
  const kept = keep({ heartbeat: async (_, end) => void beats.push(end) })
  for (let step = 1; step <= 4; step++) {
    const done = kept.startWatchdog(20_000)
    ahead += 40_000
    await until(() => (beats.at(-1) ?? 0) >= START + ahead + 60_000)
    done()
  }
  expect(await isKept(kept)).toBe(true)
})

test('a suspended process detects from the clock alone that its lease has expired', () => {
  const { check } = keep()
  expect(check).not.toThrow()
  ahead = 50_001
  expect(check).toThrow(/no longer holds the lease/)
})

/** Creates a clock whose time and timers move only where the test advances them. */
function virtualClock(): Clock {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
  const sleep = (milliseconds: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      setTimeout(resolve, milliseconds)
      signal?.addEventListener('abort', () => reject(signal.reason as Error))
    })
  return { now: () => Date.now(), sleep }
}

test('a process that was suspended until its lease expired sends no heartbeat', async () => {
  let beats = 0
  const { signal } = keep({ heartbeat: async () => void beats++ }, virtualClock())
  vi.setSystemTime(Date.now() + LEASE_MS)
  await vi.advanceTimersByTimeAsync(HEARTBEAT_MS)
  expect(signal.reason).toBeInstanceOf(LeaseLost)
  expect(beats).toBe(0)
})

test.each<[string, () => Promise<never>, milliseconds: number]>([
  ['fails', down, 1_100],
  ['never returns', never, 6_100],
])('a cancel is detected by the next read after a read that %s', async (_, first, milliseconds) => {
  let looks = 0
  const cancelled = header({ cancel: { run: 'r', reason: 'user' } })
  const { signal } = keep({ readHeader: () => (looks++ === 0 ? first() : Promise.resolve(cancelled)) }, virtualClock())
  await vi.advanceTimersByTimeAsync(milliseconds)
  expect(signal.reason).toBeInstanceOf(RunCancelled)
})

test('a stopped lease keeper sends no reads and no heartbeats', async () => {
  let asked = 0
  const readHeader = async (): Promise<SessionHeader> => (asked++, header())
  const kept = keep({ readHeader, heartbeat: async () => void asked++ }, virtualClock())
  await vi.advanceTimersByTimeAsync(15_000)
  expect(asked).toBe(31)
  kept.stop()
  await vi.advanceTimersByTimeAsync(20_000)
  expect([asked, kept.signal.aborted]).toEqual([31, false])
})

test.each([
  ['do not respond', never],
  ['fail', down],
])('work stops ten seconds before the lease expires if heartbeats %s', async (_, heartbeat) => {
  const { signal } = keep({ readHeader: async () => header(), heartbeat }, virtualClock())
  await vi.advanceTimersByTimeAsync(50_000)
  expect(signal.aborted).toBe(false)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(signal.reason).toBeInstanceOf(LeaseLost)
})
