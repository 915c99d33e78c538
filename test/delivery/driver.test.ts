import { afterEach, expect, test } from 'vitest'
import type { Channel, Outcome, Work } from '../../functions/delivery/channel.ts'
import type { Delivery } from '../../functions/domain/delivery.ts'
import type { SessionKey } from '../../functions/domain/session.ts'
import { createDeliveryDriver } from '../../functions/delivery/driver.ts'
import { hintDueDeliveries } from '../../functions/delivery/due-deliveries.ts'
import { openHttpHarness } from '../http/harness.ts'
import type { HttpHarness } from '../http/harness.ts'
import { completionOf, type Turn } from '../agent/harness.ts'

let harness: HttpHarness
afterEach(() => harness.close())

const key: SessionKey = { tenant: 'default', session: 's' }

/** Opens a program whose runs have deliveries for a channel `paper`. Its clock is `ahead` milliseconds ahead of real time. */
async function open(channel: Channel, script: readonly Turn[] = [{ text: 'Hello.' }]): Promise<{ ahead: number }> {
  const time = { ahead: 0 }
  harness = await openHttpHarness({
    script,
    change: (ports) => ({ ...ports, clock: { ...ports.clock, now: () => Date.now() + time.ahead } }),
    channels: () => new Map([['paper', channel]]),
  })
  await harness.ports.sessions.create({ ...key, agent: 'default', metadata: {} })
  return time
}

async function submit(): Promise<string> {
  const session = await harness.ports.sessions.read(key)
  if (session === undefined) throw new Error('there is no session')
  const delivery = { kind: 'paper', target: { to: 'the door' } }
  const submission = { parts: [{ type: 'text', text: 'hi' }], clientTools: [], delivery } as const
  return (await harness.program.service.submit(session, submission, { here: true })).runId
}

const stored = async (id: string): Promise<Delivery | undefined> => harness.ports.outbox.read({ ...key, id })

test("a channel that starts with the run follows the run's events; its state is stored after each step", async () => {
  const seen: string[] = []
  const follows = Promise.withResolvers<void>()
  const channel: Channel = {
    begins: 'start',
    async deliver(work) {
      await work.save({ step: 'begun' })
      for await (const event of work.events()) {
        seen.push(event.type)
        follows.resolve()
      }
      expect(await stored(work.delivery.id)).toMatchObject({ status: 'pending', state: { step: 'begun' } })
      return { status: 'delivered', state: { step: 'done' } }
    },
  }
  await open(channel, [
    async function* () {
      await follows.promise
      yield { type: 'text.delta', part: 0, text: 'Hello.' }
      yield { type: 'completion', completion: completionOf({ text: 'Hello.' }) }
    },
  ])
  const id = await submit()
  await expect.poll(() => stored(id)).toMatchObject({ status: 'delivered', state: { step: 'done' } })
  expect(seen).toEqual(expect.arrayContaining(['run.started', 'text.delta', 'run.completed']))
  expect(await stored(id)).not.toHaveProperty('owner')
})

test('a channel that starts at the end of a run is called once, and not before the end', async () => {
  const statuses: string[] = []
  await open({
    begins: 'end',
    deliver: async ({ run }) => {
      statuses.push(run.status)
      return { status: 'delivered' }
    },
  })
  const id = await submit()
  await expect.poll(() => stored(id)).toMatchObject({ status: 'delivered' })
  expect(statuses).toEqual(['completed'])
})

test('a session delivery without a run is started by a hint', async () => {
  const done: string[] = []
  await open({
    begins: 'hint',
    async deliver({ delivery }) {
      done.push(delivery.id)
      return { status: 'delivered' }
    },
  })
  await harness.ports.outbox.add({ ...key, id: '0.1' }, { kind: 'paper', target: {} }, {})
  await harness.ports.queue.send(key)
  await expect.poll(() => stored('0.1')).toMatchObject({ status: 'delivered' })
  expect(done).toEqual(['0.1'])
})

test('a channel that hangs prevents neither this run nor the next run from ending', async () => {
  const { promise, resolve } = Promise.withResolvers<Outcome>()
  await open({ begins: 'start', deliver: () => promise }, [{ text: 'one' }, { text: 'two' }])
  for (let run = 0; run < 2; run++) {
    const id = await submit()
    await expect.poll(async () => (await harness.ports.reader.run(key, id))?.status).toBe('completed')
  }
  resolve({ status: 'delivered' })
})

test('the sweep repeats a failed delivery at each due time until the delivery succeeds', async () => {
  let calls = 0
  const time = await open({
    begins: 'end',
    deliver: async () => {
      if (++calls < 3) throw new Error('no paper')
      return { status: 'delivered' }
    },
  })
  const id = await submit()
  await expect.poll(() => stored(id)).toMatchObject({ failures: 1, status: 'pending' })
  expect((await stored(id))?.owner).toBeUndefined()
  time.ahead += 5_000
  await expect.poll(() => stored(id)).toMatchObject({ failures: 2, status: 'pending' })
  expect(calls).toBe(2)
  time.ahead += 10_000
  await expect.poll(() => stored(id)).toMatchObject({ failures: 0, status: 'delivered' })
})

test("a dead worker's delivery is retried when its claim expires, and the dead worker's writes are refused", async () => {
  const works: Work[] = []
  const first = Promise.withResolvers<void>()
  const time = await open({
    begins: 'end',
    async deliver(work) {
      works.push(work)
      if (works.length === 1) await first.promise
      await work.save({ by: works.length })
      return { status: 'delivered' }
    },
  })
  const id = await submit()
  await expect.poll(() => works.length).toBe(1)
  const dead = await stored(id)
  expect(dead?.owner).toBeDefined()
  // Acts like a second process after the first has stopped renewing its claim, and the claim has expired.
  const { ports, program } = harness
  const channels = new Map([['paper', channelOf(works)]])
  const peer = createDeliveryDriver({ ...ports, channels, follow: program.service.follow })
  await peer.serve(key)
  await peer.idle()
  expect(works.length).toBe(1)
  time.ahead += 61_000
  await peer.serve(key)
  await peer.idle()
  expect(await stored(id)).toMatchObject({ status: 'delivered', state: { by: 'peer' } })
  first.resolve()
  await program.stop()
  expect(await stored(id)).toMatchObject({ status: 'delivered', state: { by: 'peer' } })
})

const channelOf = (works: Work[]): Channel => ({
  begins: 'end',
  async deliver(work) {
    works.push(work)
    await work.save({ by: 'peer' })
    return { status: 'delivered' }
  },
})

test('a stopping program releases its deliveries at once for the next program', async () => {
  await open({
    begins: 'start',
    async deliver({ signal }) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      throw signal.reason as Error
    },
  })
  const id = await submit()
  await expect.poll(async () => (await stored(id))?.owner).toBeDefined()
  await harness.program.stop()
  const left = await stored(id)
  expect(left).toMatchObject({ status: 'pending', failures: 0 })
  expect(left?.owner).toBeUndefined()
  expect(left?.due).toBeLessThanOrEqual(Date.now())
})

test('a delivery without a configured channel remains pending', async () => {
  await open({ begins: 'end', deliver: async () => ({ status: 'delivered' }) })
  const session = await harness.ports.sessions.read(key)
  if (session === undefined) throw new Error('there is no session')
  const delivery = { kind: 'gone', target: {} }
  const submission = { parts: [{ type: 'text', text: 'hi' }], clientTools: [], delivery } as const
  const { runId } = await harness.program.service.submit(session, submission, { here: true })
  await harness.program.service.settled(key, runId, new AbortController().signal)
  expect(await stored(runId)).toMatchObject({ kind: 'gone', status: 'pending' })
})

/**
 * Stops a program that has a pending delivery. Then opens a driver that starts deliveries only on hints, as the
 * functions on AWS do.
 */
async function openHinted(outcomes: readonly Outcome[]) {
  await open({ begins: 'end', deliver: async () => ({ retryAt: Date.now() + 900_000 }) })
  const id = await submit()
  await expect.poll(async () => (await stored(id))?.due).toBeGreaterThan(Date.now() + 100_000)
  await harness.program.stop()
  const reported: { readonly hints: number[]; readonly failed: string[] } = { hints: [], failed: [] }
  const left = [...outcomes]
  const driver = createDeliveryDriver({
    ...harness.ports,
    channels: new Map([['paper', { begins: 'end', deliver: async () => left.shift() ?? { status: 'failed' } }]]),
    follow: harness.program.service.follow,
    async hintLater(_key, milliseconds) {
      reported.hints.push(Math.round(milliseconds / 1_000))
      if (milliseconds < 2_000) throw new Error('the queue is down')
    },
    noteFailure: (delivery) => void reported.failed.push(delivery.id),
  })
  const serve = async (): Promise<void> => {
    const seen = await stored(id)
    if (seen !== undefined) await harness.ports.outbox.change(seen, { due: 0 })
    await driver.serve(key)
    await driver.idle()
  }
  return { id, reported, serve, driver }
}

test('only a delivery that is due before the next sweep gets its own hint', async () => {
  const now = Date.now()
  const { reported, serve, id } = await openHinted([
    { retryAt: now + 30_000 },
    { retryAt: now + 120_000 },
    { retryAt: now },
  ])
  for (let attempt = 0; attempt < 3; attempt++) await serve()
  // The last hint could not be sent, so a sweep finds the delivery.
  expect(reported.hints).toEqual([expect.closeTo(30, -1), 0])
  expect(await stored(id)).toMatchObject({ status: 'pending', failures: 0 })
  expect(reported.failed).toEqual([])
})

test('a delivery that fails permanently is reported once and remains in the outbox', async () => {
  const { reported, serve, id } = await openHinted([{ status: 'failed' }])
  await serve()
  await serve()
  expect(reported.failed).toEqual([id])
  expect(await stored(id)).toMatchObject({ status: 'failed' })
})

test('a sweep counts hinted deliveries that no worker has claimed', async () => {
  const { serve, id } = await openHinted([{ status: 'delivered' }])
  const seen = await stored(id)
  if (seen !== undefined) await harness.ports.outbox.change(seen, { due: 0 })
  let ahead = 0
  const clock = { ...harness.ports.clock, now: () => Date.now() + ahead }
  const sweep = (): Promise<number> =>
    hintDueDeliveries({ ...harness.ports, clock, queue: { send: async () => undefined } })
  expect(await sweep()).toBe(0)
  ahead = 60_000
  expect(await sweep()).toBe(1)
  await serve()
  expect(await sweep()).toBe(0)
})

test('a hint starts only deliveries that are due or marked by a sweep', async () => {
  const { driver, id } = await openHinted([{ status: 'delivered' }])
  const hint = async (): Promise<string | undefined> => {
    await driver.serve(key)
    await driver.idle()
    return (await stored(id))?.status
  }
  expect(await hint()).toBe('pending')
  const seen = await stored(id)
  if (seen !== undefined) await harness.ports.outbox.change(seen, { hinted: true })
  expect(await hint()).toBe('delivered')
})

test('a delivery claimed by a live process is not started by another, even at the run’s end', async () => {
  const { promise, resolve } = Promise.withResolvers<Outcome>()
  await open({ begins: 'end', deliver: () => promise })
  const id = await submit()
  await expect.poll(async () => (await stored(id))?.owner).toBeDefined()
  const begun: string[] = []
  const channel: Channel = {
    begins: 'end',
    async deliver({ delivery }) {
      begun.push(delivery.id)
      return { status: 'delivered' }
    },
  }
  const { ports, program } = harness
  const follow = program.service.follow
  const peer = createDeliveryDriver({ ...ports, channels: new Map([['paper', channel]]), follow })
  const run = await ports.reader.run(key, id)
  if (run === undefined) throw new Error('there is no run')
  peer.observe(key, { type: 'run.completed', id: `${id}:run.completed`, runId: id, run })
  await new Promise((later) => setTimeout(later, 300))
  const early = begun.length
  resolve({ status: 'delivered' })
  await peer.idle()
  expect([early, begun.length]).toEqual([0, 0])
})
