/* Evidence, deliveries: A delivery that crashes its workers runs alone and waits longer after each crash. It fails after 20
 * crashes. */
import { afterEach, expect, test } from 'vitest'
import type { Channel, Outcome } from '../../functions/delivery/channel.ts'
import { createDeliveryDriver, type DeliveryDriver } from '../../functions/delivery/driver.ts'
import { hintDueDeliveries } from '../../functions/delivery/due-deliveries.ts'
import type { Delivery } from '../../functions/domain/delivery.ts'
import { openHttpHarness, type HttpHarness } from '../http/harness.ts'

const KEY = { tenant: 'default', session: 's' }
const MINUTE_MS = 60_000
const isAborted = (signal: AbortSignal): Promise<Outcome> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))

let harness: HttpHarness
afterEach(() => harness.close())

/** Processes with one outbox and one clock, which start deliveries one after the other. */
async function open() {
  harness = await openHttpHarness({ script: [] })
  const { ports, program } = harness
  await program.stop()
  await ports.sessions.create({ ...KEY, agent: 'default', metadata: {} })
  const time = { ahead: 0 }
  const clock = {
    now: () => Date.now() + time.ahead,
    sleep: (_: number, signal?: AbortSignal): Promise<void> =>
      new Promise((__, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error))),
  }
  const reported = { failed: [] as string[], hints: 0, lines: [] as string[] }
  const logger = { ...ports.logger, error: (line: string) => void reported.lines.push(line) }
  const queue = { send: async () => void reported.hints++ }
  const begun: string[] = []
  /** Starts a delivering process. Its channel records each delivery that begins, then calls `deliver`. */
  const start = (deliver: (delivery: Delivery, signal: AbortSignal) => Promise<Outcome>): DeliveryDriver => {
    const channel: Channel = {
      begins: 'hint',
      givenUp: (_, reason) => ({ reason }),
      deliver({ delivery, signal }) {
        begun.push(delivery.id)
        return deliver(delivery, signal)
      },
    }
    const channels = new Map([['paper', channel]])
    const noteFailure = ({ id }: Delivery) => void reported.failed.push(id)
    return createDeliveryDriver({ ...ports, clock, logger, channels, follow: program.service.follow, noteFailure })
  }
  const add = (id: string) => ports.outbox.add({ ...KEY, id }, { kind: 'paper', target: {} }, {})
  const read = async (id: string) => (await ports.outbox.read({ ...KEY, id })) as Delivery
  const sweep = () => hintDueDeliveries({ ...ports, clock, logger, queue })
  /**
   * Starts the due deliveries in a process that dies from them. Lets its claims expire, and returns the number of deliveries that
   * began.
   */
  const die = async (): Promise<number> => {
    const before = begun.length
    await start(() => new Promise(() => undefined)).serve(KEY)
    await new Promise((resolve) => setTimeout(resolve, 20))
    time.ahead += MINUTE_MS + 1_000
    return begun.length - before
  }
  return { time, reported, begun, start, add, read, sweep, die }
}

/** The time until the delivery is due, in milliseconds, rounded to a second. */
const waitOf = ({ due = 0 }: Delivery, ahead: number): number => Math.round((due - Date.now() - ahead) / 1_000) * 1_000

test('a delivery that crashes its workers waits longer each time, and fails after twenty crashes with the reason', async () => {
  const { time, reported, add, read, sweep, die } = await open()
  await add('a')
  const waits: number[] = []
  let begun = 0
  for (let deaths = 0; deaths < 19; deaths++) {
    begun += await die()
    await sweep()
    const left = await read('a')
    expect(left).toMatchObject({ status: 'pending', begun: deaths + 1 })
    // A single crash may have any cause, so the next hint starts the delivery again.
    if (left.hinted === true) continue
    waits.push(waitOf(left, time.ahead))
    expect(await die()).toBe(0)
    time.ahead += waits.at(-1) ?? 0
    await sweep()
  }
  begun += await die()
  expect(begun).toBe(20)
  expect(waits.slice(0, 5)).toEqual([1, 2, 4, 8, 10].map((minutes) => minutes * MINUTE_MS))
  expect(reported).toMatchObject({ failed: [], lines: [] })
  await sweep()
  expect(await die()).toBe(0)
  const left = await read('a')
  expect(left).toMatchObject({ status: 'failed', state: { reason: expect.stringMatching(/20 times in a row/) } })
  for (const field of ['due', 'owner', 'hinted', 'begun']) expect(left).not.toHaveProperty(field)
  expect(reported).toMatchObject({ failed: ['a'], lines: ['a delivery has failed'] })
})

test('a driver that finds a crashed delivery before the sweep postpones the delivery', async () => {
  const { time, add, read, start, die } = await open()
  await add('a')
  await die()
  await die()
  const next = start(async () => ({ status: 'delivered' }))
  await next.serve(KEY)
  await next.idle()
  const left = await read('a')
  expect(left).toMatchObject({ status: 'pending', begun: 2 })
  expect(waitOf(left, time.ahead)).toBe(MINUTE_MS)
  time.ahead += MINUTE_MS + 1_000
  await next.serve(KEY)
  await next.idle()
  expect(await read('a')).toMatchObject({ status: 'delivered' })
})

test('any outcome of an attempt resets the count of crashes; a shutdown is no crash', async () => {
  const { add, read, start, die } = await open()
  await add('a')
  for (let time = 0; time < 3; time++) {
    expect(await die()).toBe(1)
    const stopped = start((_, signal) => isAborted(signal))
    await stopped.serve(KEY)
    await expect.poll(async () => (await read('a')).begun).toBe(2)
    await stopped.handOff()
    expect(await read('a')).not.toHaveProperty('begun')
  }
  expect(await die()).toBe(1)
  const busy = start(async () => ({ retryAt: 0, keepClaim: true }))
  await busy.serve(KEY)
  await busy.idle()
  const held = await read('a')
  expect(held.owner).toBeDefined()
  expect(held).not.toHaveProperty('begun')
})

test('a delivery that crashed twice runs alone, so that the deliveries that crashed with it can succeed', async () => {
  const { time, begun, add, read, start, sweep, die } = await open()
  const innocent = ['b', 'c', 'd']
  for (const id of ['a', ...innocent]) await add(id)
  for (let deaths = 0; deaths < 2; deaths++) expect(await die()).toBe(4)
  await sweep()
  time.ahead += MINUTE_MS + 1_000
  begun.length = 0
  const { promise, resolve } = Promise.withResolvers<Outcome>()
  const next = start((delivery) => (delivery.id === 'b' ? promise : Promise.resolve({ status: 'delivered' } as const)))
  await add('e')
  await next.serve(KEY)
  await expect.poll(() => begun).toEqual(['a', 'e', 'b'])
  await new Promise((later) => setTimeout(later, 50))
  await add('f')
  await next.serve(KEY)
  await new Promise((later) => setTimeout(later, 50))
  expect(begun).toEqual(['a', 'e', 'b'])
  resolve({ status: 'delivered' })
  await next.idle()
  expect(begun).toEqual(['a', 'e', 'b', 'f', 'c', 'd'])
  for (const id of ['a', 'f', ...innocent]) expect(await read(id)).toMatchObject({ status: 'delivered' })
})
