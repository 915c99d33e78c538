import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Channel } from '../../functions/delivery/channel.ts'
import { createDeliveryDriver } from '../../functions/delivery/driver.ts'
import { hintDueDeliveries } from '../../functions/delivery/due-deliveries.ts'
import { openSession, openSingleDriver, type SingleDriver } from './single-driver.ts'

/* A program that has no settings for a delivery leaves it to other programs on its data folder. */

const key = { tenant: 'default', session: 's', id: '0.1' }
/** Longer than the 30 s for which a program leaves a due delivery to other programs. */
const LATER_MS = 31_000

let single: SingleDriver
beforeEach(async () => {
  const deliver = () => Promise.reject(new Error('this program cannot deliver'))
  single = await openSingleDriver({ begins: 'hint', serves: async () => false, deliver })
  await openSession(single.harness, 's')
  await single.add('s', key.id, {})
})
afterEach(() => single.harness.close())

const read = () => single.harness.ports.outbox.read(key)

async function sweep(): Promise<void> {
  const { harness, driver, time } = single
  const clock = { ...harness.ports.clock, now: () => Date.now() + time.ahead }
  const queue = { send: driver.serve }
  await hintDueDeliveries({ ...harness.ports, clock, queue, isLeft: driver.isLeft })
  await driver.serve(key)
  await driver.idle()
}

test('a delivery is unchanged by a program without its settings, and another program delivers it', async () => {
  const before = await read()
  await sweep()
  expect(await read()).toEqual(before)
  const { ports, program } = single.harness
  const channel: Channel = { begins: 'hint', deliver: async () => ({ status: 'delivered' }) }
  const channels = new Map([['sheet', channel]])
  const peer = createDeliveryDriver({ ...ports, channels, follow: program.service.follow })
  await peer.serve(key)
  await peer.idle()
  expect(await read()).toMatchObject({ status: 'delivered' })
})

test('a program without the settings does not postpone a delivery that waits in another program', async () => {
  const { outbox } = single.harness.ports
  const added = await read()
  // The other program has sent a hint for the delivery, but has no free slot for it yet.
  if (added !== undefined) await outbox.change(added, { hinted: true, due: Date.now() - 1 })
  const waiting = await read()
  await sweep()
  expect(await read()).toEqual(waiting)
})

test('a delivery that no program has settings for is postponed, and fails after a day', async () => {
  single.time.ahead = LATER_MS
  await sweep()
  const postponed = await read()
  expect(postponed).toMatchObject({ status: 'pending', failures: 1 })
  expect(postponed?.due).toBeGreaterThan(Date.now() + 500_000)
  if (postponed !== undefined) await single.harness.ports.outbox.change(postponed, { due: 0, failures: 149 })
  await sweep()
  expect(await read()).toMatchObject({ status: 'failed' })
})
