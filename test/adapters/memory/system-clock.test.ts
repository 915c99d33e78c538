import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'

const clock = createSystemClock()

test('"now" returns the time in milliseconds', () => {
  expect(Math.abs(clock.now() - Date.now())).toBeLessThan(1000)
})

test('a sleep lasts for the requested time', async () => {
  const start = performance.now()
  await clock.sleep(30)
  expect(performance.now() - start).toBeGreaterThanOrEqual(28)
})

test('a sleep that is aborted rejects at once with the reason of the signal', async () => {
  const stop = new AbortController()
  const reason = new Error('enough')
  setTimeout(() => stop.abort(reason), 5)
  await expect(clock.sleep(60_000, stop.signal)).rejects.toBe(reason)
  await expect(clock.sleep(60_000, stop.signal)).rejects.toBe(reason)
})

test('a sleep that has ended leaves no listener on the signal', async () => {
  const { signal } = new AbortController()
  await clock.sleep(1, signal)
  expect(getEventListeners(signal, 'abort')).toEqual([])
})
