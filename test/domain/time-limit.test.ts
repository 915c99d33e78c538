import { getEventListeners } from 'node:events'
import { afterEach, expect, test, vi } from 'vitest'
import { raceAbort, TimedOut, withinTime } from '../../functions/domain/time/time-limit.ts'

const never = (): Promise<never> => new Promise(() => undefined)
const reason = new Error('enough')

afterEach(() => void vi.useRealTimers())

test('work that has settled keeps its outcome, even if the signal is aborted', async () => {
  const stop = new AbortController()
  const done = raceAbort(Promise.resolve('done'), stop.signal)
  const failed = raceAbort(Promise.reject(new Error('no')), stop.signal)
  stop.abort(reason)
  await expect(failed).rejects.toThrow('no')
  expect(await done).toBe('done')
  expect(await raceAbort(Promise.resolve('late'), stop.signal)).toBe('late')
})

test('an abort ends the wait for work that has not settled, with the reason of the signal', async () => {
  const stop = new AbortController()
  const waiting = raceAbort(never(), stop.signal)
  stop.abort(reason)
  await expect(waiting).rejects.toBe(reason)
  await expect(raceAbort(never(), stop.signal)).rejects.toBe(reason)
})

test('settled work leaves no listener on the signal and no timer', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { signal } = new AbortController()
  for (const work of [() => Promise.resolve(), () => Promise.reject(reason)]) {
    await raceAbort(work(), signal).catch(() => undefined)
    await withinTime(1_000, 'the store', work).catch(() => undefined)
  }
  await expect(
    withinTime(1_000, 'the store', () => {
      throw reason
    }),
  ).rejects.toBe(reason)
  expect(getEventListeners(signal, 'abort')).toEqual([])
  expect(vi.getTimerCount()).toBe(0)
})

test('work without a result in time rejects with TimedOut, and its late failure is handled', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { promise, reject } = Promise.withResolvers<never>()
  const late = withinTime(1_000, 'the store', () => promise)
  vi.advanceTimersByTime(1_000)
  await expect(late).rejects.toBeInstanceOf(TimedOut)
  reject(reason)
  await expect(promise).rejects.toBe(reason)
})
