/* Evidence, deliveries: A receiver that never responds does not delay deliveries to other receivers. */
import { afterEach, expect, test } from 'vitest'
import type { HttpHarness } from '../http/harness.ts'
import { openSingleDriver, openSession } from './single-driver.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const key = { tenant: 'default', session: 's' }

test('a receiver that never responds does not delay deliveries to other receivers', async () => {
  const begun: string[] = []
  const alone = await openSingleDriver({
    begins: 'hint',
    async deliver({ delivery: { target, id }, signal }) {
      begun.push(id)
      if (target['to'] === 'prompt') return { status: 'delivered' }
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return { retryAt: Date.now() }
    },
  })
  ;({ harness } = alone)
  const sessions = ['one', 'two', 'three']
  await openSession(harness, 's')
  for (const session of sessions) {
    await openSession(harness, session)
    for (let id = 0; id < 60; id++) await alone.add(session, `silent-${id}`, { to: 'silent' })
  }
  await alone.add('s', 'prompt-0', { to: 'prompt' })
  for (const session of [...sessions, 's']) await alone.driver.serve({ ...key, session })
  await expect.poll(() => begun).toContain('prompt-0')
  expect(begun).toHaveLength(51)
  await alone.driver.handOff()
})

test('a due delivery starts, even if many deliveries before it wait for a retry', async () => {
  const begun: string[] = []
  const alone = await openSingleDriver({
    begins: 'hint',
    async deliver({ delivery: { id } }) {
      begun.push(id)
      return { status: 'delivered' }
    },
  })
  ;({ harness } = alone)
  const { outbox, clock } = harness.ports
  await openSession(harness, 's')
  for (let number = 0; number < 250; number++) {
    const id = `a-${String(number).padStart(3, '0')}`
    await alone.add('s', id, { to: 'silent' })
    const seen = await outbox.read({ ...key, id })
    if (seen !== undefined) await outbox.change(seen, { due: clock.now() + 600_000 })
  }
  await alone.add('s', 'b', { to: 'prompt' })
  await alone.driver.serve(key)
  await alone.driver.idle()
  expect(begun).toEqual(['b'])
})

test('deliveries to one destination share one limit, whatever else their targets contain', async () => {
  const begun: string[] = []
  const alone = await openSingleDriver({
    begins: 'hint',
    destination: ({ to }) => to ?? null,
    async deliver({ delivery: { id }, signal }) {
      begun.push(id)
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return { retryAt: Date.now() }
    },
  })
  ;({ harness } = alone)
  await openSession(harness, 's')
  for (let number = 0; number < 70; number++)
    await alone.add('s', `a-${number}`, { to: 'silent', text: `another ${number}` })
  await alone.driver.serve(key)
  await expect.poll(() => begun.length).toBe(50)
  await alone.driver.handOff()
  expect(begun).toHaveLength(50)
})

test('deliveries of a channel that is down are retried for a day and then fail', async () => {
  const alone = await openSingleDriver({
    begins: 'hint',
    deliver: () => Promise.reject(new Error('down')),
  })
  ;({ harness } = alone)
  const { outbox } = harness.ports
  await openSession(harness, 's')
  await alone.add('s', 'b', { to: 'prompt' })
  let tries = 0
  let left = await outbox.read({ ...key, id: 'b' })
  while (left?.status === 'pending' && tries < 1_000) {
    alone.time.ahead = Math.max(0, (left.due ?? 0) - Date.now())
    await alone.driver.serve(key)
    await alone.driver.idle()
    left = await outbox.read({ ...key, id: 'b' })
    tries++
  }
  expect(left).toMatchObject({ status: 'failed', failures: tries })
  const hours = alone.time.ahead / 3_600_000
  expect(hours).toBeGreaterThan(22)
  expect(hours).toBeLessThan(30)
})
