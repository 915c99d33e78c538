import { afterEach, expect, test, vi } from 'vitest'
import { retryingStore } from '../../../../functions/agent/loop/writer/retrying-store.ts'
import { LeaseLost, TooltrailError } from '../../../../functions/domain/errors.ts'
import type { Lease } from '../../../../functions/domain/session.ts'
import type { LogReader } from '../../../../functions/ports/log-reader.ts'
import type { OutputStore } from '../../../../functions/ports/output-store.ts'
import type { RunLog } from '../../../../functions/ports/run-log.ts'

afterEach(() => void vi.useRealTimers())

const refusal = new TooltrailError('storage_failed', 'no')
const never = (): Promise<never> => new Promise(() => undefined)

/**
 * Creates a holder's store whose reads and result writes follow a script. The lease ends after 20 s on a clock that
 * advances only during waits.
 */
function retrying(...steps: readonly (() => Promise<unknown>)[]) {
  let [now, tries] = [0, 0]
  const next = async () => (steps[tries++] ?? steps.at(-1) ?? never)()
  const { signal } = new AbortController()
  const keeper = {
    signal,
    lost: signal,
    until: () => 20_000,
    startWatchdog: () => () => undefined,
    giveUp: (cause: unknown) => new LeaseLost('s', 1, cause),
    poll: never,
  }
  const store = retryingStore(
    {
      log: { completeCall: next } as unknown as RunLog,
      reader: { message: next } as unknown as LogReader,
      outputs: { put: next } as unknown as OutputStore,
      sessions: { read: never },
      lease: { release: never },
    },
    { keeper, clock: { now: () => now, sleep: async (milliseconds) => void (now += milliseconds) } },
  )
  return { store, tries: () => tries, now: () => now }
}

const KEY = { tenant: 't', session: 's' }
const down = (): Promise<never> => Promise.reject(new Error('the store is down'))
const fine = async (): Promise<string> => 'fine'

test('a failed store operation is retried, and one without a response is retried after ten seconds', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { store } = retrying(down, never, fine)
  const read = store.reader.message(KEY, 'm1')
  await vi.advanceTimersByTimeAsync(10_000)
  expect(await read).toBe('fine')
})

test('a failing store operation is retried only until the lease expires', async () => {
  let left = 1_000
  const { store, now, tries } = retrying(() => (left-- > 0 ? down() : Promise.reject(refusal)))
  await expect(store.reader.message(KEY, 'm1')).rejects.toBeInstanceOf(LeaseLost)
  expect(now()).toBeGreaterThan(17_000)
  expect(now()).toBeLessThan(20_000)
  expect(tries()).toBeLessThan(20)
})

test('a permanent refusal is retried only for a call’s result, because the call has run', async () => {
  const reading = retrying(() => Promise.reject(refusal))
  await expect(reading.store.reader.message(KEY, 'm1')).rejects.toBe(refusal)
  expect(reading.tries()).toBe(1)
  const putting = retrying(() => Promise.reject(refusal))
  await expect(putting.store.outputs.put(KEY, 'o', Buffer.from(''), 'text/plain')).rejects.toBe(refusal)
  expect(putting.tries()).toBe(1)
  const storing = retrying(() => Promise.reject(refusal), fine)
  expect(await storing.store.log.completeCall({} as Lease, {} as never)).toBe('fine')
})

test('an attempt that waits in the store’s queue beyond its timeout still returns its result', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const queued = Promise.withResolvers<string>()
  const { store, tries } = retrying(() => queued.promise, never)
  const found: unknown[] = []
  void store.reader.message(KEY, 'm1').then((message) => found.push(message))
  await vi.advanceTimersByTimeAsync(15_000)
  expect(tries()).toBe(2)
  queued.resolve('first')
  await vi.advanceTimersByTimeAsync(1)
  expect(found).toEqual(['first'])
})
