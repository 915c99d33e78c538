import { expect, test } from 'vitest'
import { createMemoryRunQueue } from '../../../functions/adapters/memory/run-queue.ts'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import type { Clock } from '../../../functions/ports/clock.ts'
import { runQueueContract } from '../../contracts/run-queue.ts'
import { eventually } from '../../eventually.ts'

runQueueContract('memory', () => createMemoryRunQueue({ clock: createSystemClock() }))

const key = { tenant: 'default', session: 's1' }

/** Creates a clock whose sleeps end when the test ends them. */
function heldClock() {
  const sleeps: { milliseconds: number; end(): void }[] = []
  const clock: Clock = {
    now: () => 0,
    sleep: (milliseconds, signal) =>
      new Promise((end, reject) => {
        sleeps.push({ milliseconds, end })
        signal?.addEventListener('abort', () => reject(signal.reason as Error))
      }),
  }
  return { clock, sleeps }
}

test('hints of one session coalesce while no worker listens', async () => {
  const queue = createMemoryRunQueue(heldClock())
  for (let sent = 0; sent < 100; sent++) await queue.send(key)
  let calls = 0
  const consumer = queue.consume(async () => void (calls += 1))
  await consumer.stop()
  expect(calls).toBe(1)
})

test('handlers of one session never overlap; any number of hints during a handler causes one more call', async () => {
  const queue = createMemoryRunQueue(heldClock())
  let [calls, running, most] = [0, 0, 0]
  const gate = Promise.withResolvers<void>()
  const consumer = queue.consume(async () => {
    calls += 1
    most = Math.max(most, (running += 1))
    await gate.promise
    running -= 1
  })
  for (let sent = 0; sent < 50; sent++) await queue.send(key)
  gate.resolve()
  await eventually(() => expect([calls, running]).toEqual([2, 0]))
  await consumer.stop()
  expect(most).toBe(1)
})

test('the delay of a rejected hint doubles up to 30 s, and resets after a success', async () => {
  const { clock, sleeps } = heldClock()
  const queue = createMemoryRunQueue({ clock })
  let fails = true
  const consumer = queue.consume(async () => {
    if (fails) throw new Error('no')
  })
  await queue.send(key)
  for (let attempt = 0; attempt < 9; attempt++) {
    await eventually(() => expect(sleeps).toHaveLength(attempt + 1))
    sleeps[attempt]?.end()
  }
  await eventually(() => expect(sleeps).toHaveLength(10))
  expect(sleeps.map(({ milliseconds }) => milliseconds)).toEqual([
    250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000,
  ])
  fails = false
  sleeps[9]?.end()
  await new Promise(setImmediate)
  fails = true
  await queue.send(key)
  await eventually(() => expect(sleeps[10]?.milliseconds).toBe(250))
  await consumer.stop()
})

test('a new hint does not wait for the backoff of a failed hint', async () => {
  const { clock, sleeps } = heldClock()
  const queue = createMemoryRunQueue({ clock })
  let calls = 0
  const consumer = queue.consume(async () => {
    calls += 1
    if (calls === 1) throw new Error('no')
  })
  await queue.send(key)
  await eventually(() => expect(sleeps).toHaveLength(1))
  await queue.send(key)
  await eventually(() => expect(calls).toBe(2))
  sleeps[0]?.end()
  await new Promise(setImmediate)
  expect(calls).toBe(2)
  await consumer.stop()
})

test('"stop" does not wait for the backoff of a failed hint', async () => {
  const { clock, sleeps } = heldClock()
  const queue = createMemoryRunQueue({ clock })
  const consumer = queue.consume(() => Promise.reject(new Error('no')))
  await queue.send(key)
  await eventually(() => expect(sleeps).toHaveLength(1))
  await consumer.stop()
})

test('a second consumer is refused until the first one has stopped', async () => {
  const queue = createMemoryRunQueue(heldClock())
  const first = queue.consume(async () => {})
  expect(() => queue.consume(async () => {})).toThrow('the run queue has a consumer already')
  await first.stop()
  await queue.consume(async () => {}).stop()
})

test('a hint for a session with a running handler calls the notice callback at once', async () => {
  const queue = createMemoryRunQueue(heldClock())
  const held = Promise.withResolvers<void>()
  const noticed: unknown[] = []
  const consumer = queue.consume(
    () => held.promise,
    (hint) => void noticed.push(hint),
  )
  await queue.send(key)
  await queue.send({ ...key, session: 'another' })
  expect(noticed).toEqual([])
  await queue.send(key)
  expect(noticed).toEqual([key])
  held.resolve()
  await consumer.stop()
})
