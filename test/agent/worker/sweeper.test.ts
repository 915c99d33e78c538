import { describe, expect, test } from 'vitest'
import { startSweeper, sweep } from '../../../functions/agent/worker/sweeper.ts'
import type { SessionHeader, SessionKey } from '../../../functions/domain/session.ts'
import type { DeletionState } from '../../../functions/ports/session-deletion.ts'
import { fairShares } from '../../../functions/domain/fair-shares.ts'
import { openHarness } from '../harness.ts'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'

const keyOf = (session: string, tenant = 't'): SessionKey => ({ tenant, session })
const none = (): Promise<never> => Promise.reject(new Error('not asked for here'))
const REMOVED: DeletionState = { messages: 0, runs: 0, documents: 0, outputs: 0, removed: false }

interface Backlog {
  readonly due?: readonly SessionKey[]
  readonly tombstones?: readonly SessionKey[]
  readonly expired?: readonly SessionKey[]
  /** Sessions whose read, hint or deletion fails. */
  readonly failing?: readonly string[]
  /** Milliseconds that each step takes. */
  readonly stepMs?: number
}

/** Creates a backlog in memory with a virtual clock. Records the effects of sweeps. */
function createBacklog({ due = [], tombstones = [], expired = [], failing = [], stepMs = 30 }: Backlog) {
  let now = 0
  const times = new Map<string, { readonly key: SessionKey; due: number; readonly deleted: boolean }>()
  for (const key of due) times.set(key.session, { key, due: -1, deleted: false })
  for (const key of tombstones) times.set(key.session, { key, due: -10_000, deleted: true })
  const waiting = [...expired]
  const hinted: { readonly session: string; readonly at: number }[] = []
  const failed: unknown[] = []
  const step = async ({ session }: SessionKey): Promise<void> => {
    now += stepMs
    if (failing.includes(session)) throw new Error(`${session} fails`)
  }
  const dependencies: Parameters<typeof sweep>[0] = {
    janitor: {
      due: async (at, limit) =>
        fairShares(
          [...times.values()].filter((one) => one.due <= at).map(({ key, due }) => ({ key, due })),
          limit,
        ),
      postpone: async ({ key, due }, until) => {
        const one = times.get(key.session)
        if (one?.due !== due) return false
        one.due = until
        return true
      },
      expired: async (_, limit) => waiting.slice(0, limit),
      adopt: async () => false,
      clearDue: none,
    },
    lease: {
      readHeader: async (key) => {
        await step(key)
        return { ...key, status: times.get(key.session)?.deleted === true ? 'deleted' : 'live' } as SessionHeader
      },
      readHeaderEventually: none,
      start: none,
      take: none,
      claim: none,
      heartbeat: none,
      release: none,
    },
    deletion: {
      tombstone: async (key) => {
        await step(key)
        waiting.splice(waiting.indexOf(key), 1)
        return true
      },
      removeRows: async (key) => {
        await step(key)
        return { more: false }
      },
      markRemoved: async ({ session }) => void times.delete(session),
      finish: none,
      state: async () => REMOVED,
    },
    outputs: { put: none, read: none, stat: none, link: none, remove: none, removeAll: async () => 0 },
    queue: { send: async ({ session }) => void hinted.push({ session, at: now }), consume: () => ({ stop: none }) },
    clock: { now: () => now, sleep: async (milliseconds) => void (now += milliseconds) },
    logger: { info: () => undefined, warn: () => undefined, error: (_, cause) => void failed.push(cause) },
  }
  return { dependencies, hinted, failed, waiting, times, sessions: () => hinted.map(({ session }) => session) }
}

const many = (count: number, prefix: string, tenant?: string): SessionKey[] =>
  Array.from({ length: count }, (_, n) => keyOf(`${prefix}${n}`, tenant))

describe('a sweep', () => {
  test('sends hints for due sessions, and leaves sessions beyond its deadline to the next sweep', async () => {
    const whole = createBacklog({ due: many(3, 's') })
    await sweep(whole.dependencies)
    expect(whole.sessions()).toEqual(['s0', 's1', 's2'])
    const short = createBacklog({ due: many(30, 's'), stepMs: 1_000 })
    await sweep(short.dependencies, 15_000)
    expect(short.hinted.length).toBeGreaterThan(10)
    expect(short.hinted.length).toBeLessThan(30)
    await sweep(short.dependencies, 60_000)
    expect(new Set(short.sessions()).size).toBe(30)
  })

  test('reports a failure of one session, and still sends hints for the others', async () => {
    const backlog = createBacklog({ due: many(3, 's'), failing: ['s1'] })
    await sweep(backlog.dependencies)
    expect(backlog).toMatchObject({ failed: [{ message: 's1 fails' }] })
    expect(backlog.sessions()).toEqual(['s0', 's2'])
  })

  test('sends one hint for each of 10,000 sessions within 5 minutes', async () => {
    const backlog = createBacklog({ due: many(10_000, 's') })
    await sweep(backlog.dependencies, 300_000)
    expect(new Set(backlog.sessions()).size).toBe(10_000)
    expect(backlog.dependencies.clock.now()).toBeLessThanOrEqual(300_000)
  })

  test('repeated sweeps reach every due session even if no worker serves a session', async () => {
    const backlog = createBacklog({ due: many(2_000, 's'), stepMs: 100 })
    for (let n = 0; n < 10; n++) {
      const { clock } = backlog.dependencies
      await sweep(backlog.dependencies, clock.now() + 30_000)
      await clock.sleep(30_000)
    }
    expect(new Set(backlog.sessions()).size).toBe(2_000)
  })

  test('sends hints before it deletes: neither expired sessions nor failing tombstones delay a hint', async () => {
    const stuck = many(100, 'stuck')
    const backlog = createBacklog({
      due: [keyOf('lost')],
      tombstones: stuck,
      expired: many(1_000, 'old'),
      failing: stuck.map(({ session }) => session),
      stepMs: 100,
    })
    await sweep(backlog.dependencies, 60_000)
    expect(backlog.hinted[0]).toMatchObject({ session: 'lost' })
    expect(backlog.hinted[0]?.at).toBeLessThan(11_000)
  })

  test('deletes expired sessions although tombstones use part of its time', async () => {
    const backlog = createBacklog({ tombstones: many(1_000, 'dead'), expired: many(50, 'old') })
    await sweep(backlog.dependencies, 60_000)
    expect(backlog.waiting).toEqual([])
    expect(backlog.times.size).toBeGreaterThan(0)
    expect(backlog.times.size).toBeLessThan(1_000)
  })

  test('sends a hint for a due session even if there are more slow deletions than one sweep reads', async () => {
    const backlog = createBacklog({ due: [keyOf('lost')], tombstones: many(600, 'dead'), stepMs: 10 })
    backlog.dependencies.deletion.removeRows = async () => {
      await backlog.dependencies.clock.sleep(20_000)
      return { more: true }
    }
    await sweep(backlog.dependencies, 60_000)
    expect(backlog.sessions()).toEqual(['lost'])
  })

  test('retries a failed deletion after five minutes', async () => {
    const backlog = createBacklog({ tombstones: [keyOf('dead')] })
    backlog.dependencies.deletion.removeRows = async () => Promise.reject(new Error('cannot'))
    await sweep(backlog.dependencies)
    await backlog.dependencies.clock.sleep(20_000)
    await sweep(backlog.dependencies)
    expect(backlog.failed).toHaveLength(1)
    await backlog.dependencies.clock.sleep(282_000)
    await sweep(backlog.dependencies)
    expect(backlog.failed).toHaveLength(2)
  })
})

test('a failing sweeper retries, and its stop waits for the sweep in flight', async () => {
  let sweeps = 0
  const backlog = createBacklog({})
  const stopped = startSweeper(
    {
      ...backlog.dependencies,
      janitor: {
        ...backlog.dependencies.janitor,
        due: async () => {
          if (++sweeps === 3) void Promise.resolve().then(() => stopped.stop())
          if (sweeps === 1) throw new Error('the store is down')
          return []
        },
      },
    },
    1_000,
  )
  await stopped.stop()
  expect(sweeps).toBeGreaterThan(0)
  expect(backlog.failed.length).toBeLessThanOrEqual(1)
})

test('a fresh deletion is left to its caller, which counts the removed rows; a stalled deletion is continued', async () => {
  const clock = createSystemClock()
  const harness = await openHarness({ script: [{ text: 'hello' }], clock })
  await harness.settled(await harness.submit('hi'))
  const now = clock.now()
  clock.now = () => now
  await harness.ports.deletion.tombstone(harness.key)
  const sweepAfter = (milliseconds: number): Promise<void> =>
    sweep({ ...harness.ports, clock: { ...clock, now: () => now + milliseconds } })
  await sweepAfter(0)
  expect(await harness.ports.deletion.state(harness.key)).toMatchObject({ removed: false, messages: 0 })
  await sweepAfter(2_000)
  expect(await harness.ports.deletion.state(harness.key)).toMatchObject({ removed: true, messages: 2, runs: 1 })
  await harness.close()
})
