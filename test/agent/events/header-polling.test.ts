import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createEventBus } from '../../../functions/agent/events/event-bus.ts'
import { pollHeader } from '../../../functions/agent/events/header-polling.ts'
import type { HeaderPoll } from '../../../functions/agent/events/header-polling.ts'
import { untilSettled } from '../../../functions/agent/events/until-settled.ts'
import type { Run } from '../../../functions/domain/runs/run.ts'
import type { SessionHeader } from '../../../functions/domain/session.ts'
import type { LogReader } from '../../../functions/ports/log-reader.ts'

const KEY = { tenant: 't', session: 's' }
const BUSY: SessionHeader = {
  ...KEY,
  status: 'live',
  generation: 1,
  activeRun: 'r',
  paused: false,
  waiting: 0,
  queued: 0,
  takeovers: 0,
  head: 'm1',
}
const down = (): Promise<never> => Promise.reject(new Error('the store is down'))

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** Starts polling the header of a session. After the first poll, the test sets the header that the next poll reads. */
async function watch(of: 'events' | 'ends') {
  let look: () => Promise<SessionHeader | undefined> = async () => BUSY
  let woken = 0
  const poll: HeaderPoll = pollHeader({ readHeaderEventually: () => look() }, KEY, { of, wake: () => woken++ })
  const state = await poll.state()
  woken = 0
  return {
    async next(read: typeof look): Promise<[since: string, woken: number]> {
      look = read
      await vi.advanceTimersByTimeAsync(1_000)
      poll.close()
      return [poll.since(state), Math.min(woken, 1)]
    },
  }
}

test.each<[string, 'events' | 'ends', Partial<SessionHeader>]>([
  ['a message', 'events', { head: 'm2' }],
  ['a call that waits no longer', 'events', { waiting: 1 }],
  ['another holder', 'ends', { generation: 2 }],
  ['a pause', 'ends', { generation: 2, paused: true, waiting: 2 }],
  ['a cancel', 'ends', { cancel: { run: 'r', reason: 'user' } }],
  ['an input that was queued', 'ends', { queued: 1 }],
])('%s counts as a change', async (_, of, change) => {
  expect(await (await watch(of)).next(async () => ({ ...BUSY, ...change }))).toEqual(['change', 1])
})

test('a client that waits only for the end is not woken by a message', async () => {
  const ends = await watch('ends')
  expect(await ends.next(async () => ({ ...BUSY, head: 'm2' }))).toEqual([expect.any(String), 0])
})

test.each(['events', 'ends'] as const)('a failed poll counts as a change, so that the log is read (%s)', async (of) => {
  expect(await (await watch(of)).next(down)).toEqual(['change', 1])
})

test('a client that waits for a remote run reads the run after a poll shows a change', async () => {
  let run = { id: 'r', status: 'running' } as Run
  let header = BUSY
  const reader = { run: async () => run } as unknown as LogReader
  const lease = { readHeaderEventually: async () => header, readHeader: async () => header }
  const worker = { isServing: () => false }
  const waiting = untilSettled({ reader, lease, worker, bus: createEventBus() }, KEY, 'r', new AbortController().signal)
  let isSettled = false
  void waiting.then(() => (isSettled = true))
  await vi.advanceTimersByTimeAsync(5_000)
  expect(isSettled).toBe(false)
  run = { ...run, status: 'completed' }
  const { activeRun: _, ...free } = BUSY
  header = { ...free, generation: 2 }
  await vi.advanceTimersByTimeAsync(1_000)
  expect(isSettled).toBe(true)
})
