import { beforeEach, expect, test } from 'vitest'
import { createDeliverySlots, type DeliverySlot, type DeliverySlots } from '../../functions/delivery/delivery-slots.ts'

let now: number
let sleeps: { readonly until: number; readonly wake: () => void }[]
let slots: DeliverySlots
const never = new AbortController().signal

beforeEach(() => {
  now = 0
  sleeps = []
  slots = createDeliverySlots({
    now: () => now,
    sleep: (milliseconds, signal) =>
      new Promise((wake, reject) => {
        sleeps.push({ until: now + milliseconds, wake })
        signal?.addEventListener('abort', () => reject(signal.reason as Error))
      }),
  })
})

/** Moves the clock forward by `milliseconds`, and wakes the code whose wait has ended. */
async function pass(milliseconds = 0): Promise<void> {
  now += milliseconds
  for (const { until, wake } of sleeps) if (until <= now) wake()
  for (let slot = 0; slot < 20; slot++) await Promise.resolve()
}

/** Requests a slot and reports the outcome. */
function ask(isExclusive: boolean, signal = never): { slot?: DeliverySlot | undefined; isOver: boolean } {
  const asked: { slot?: DeliverySlot | undefined; isOver: boolean } = { isOver: false }
  void slots.take(isExclusive, signal).then((slot) => Object.assign(asked, { slot, isOver: true }))
  return asked
}

test('an exclusive delivery starts after all other deliveries have ended, and runs alone', async () => {
  const [first, second] = [ask(false), ask(false)]
  const isExclusive = ask(true)
  await pass()
  const late = ask(false)
  first.slot?.end()
  await pass()
  expect([second.isOver, isExclusive.isOver, late.isOver]).toEqual([true, false, false])
  second.slot?.end()
  await pass()
  expect([isExclusive.slot?.hasWaited, late.isOver]).toEqual([true, false])
  isExclusive.slot?.end()
  await pass()
  expect(late.slot?.hasWaited).toBe(true)
})

test('between two exclusive deliveries, all other waiting deliveries start', async () => {
  const [one, other] = [ask(true), ask(true)]
  await pass()
  const beside = ask(false)
  one.slot?.end()
  await pass()
  expect([beside.isOver, other.isOver]).toEqual([true, false])
  beside.slot?.end()
  await pass()
  expect(other.isOver).toBe(true)
})

test('a slow delivery delays others for a bounded time, before and during an exclusive delivery', async () => {
  ask(false)
  await pass()
  const isExclusive = ask(true)
  const late = ask(false)
  await pass(9_999)
  expect([isExclusive.isOver, late.isOver]).toEqual([false, false])
  await pass(1)
  expect([isExclusive.isOver, late.isOver]).toEqual([true, false])
  await pass(10_000)
  expect(late.isOver).toBe(true)
  expect(ask(false)).toEqual({ isOver: false })
  await pass()
  const free = ask(false)
  await pass()
  expect(free.slot?.hasWaited).toBe(false)
})

test('an aborted worker stops waiting and takes no slot', async () => {
  const stopping = new AbortController()
  const first = ask(true)
  await pass()
  const [isExclusive, beside] = [ask(true, stopping.signal), ask(false, stopping.signal)]
  stopping.abort()
  await pass()
  expect([isExclusive, beside]).toEqual([
    { isOver: true, slot: undefined },
    { isOver: true, slot: undefined },
  ])
  first.slot?.end()
  await pass()
  expect(await slots.take(false, stopping.signal)).toBeUndefined()
  expect((await slots.take(false, never))?.hasWaited).toBe(false)
})

test('at most ten exclusive deliveries wait; others are left to a later hint', async () => {
  ask(true)
  await pass()
  const waiting = Array.from({ length: 11 }, () => ask(true))
  await pass()
  expect(waiting.map(({ isOver }) => isOver)).toEqual([...Array.from({ length: 10 }, () => false), true])
  expect(waiting.at(-1)?.slot).toBeUndefined()
})
