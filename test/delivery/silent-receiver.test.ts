import { afterEach, expect, test } from 'vitest'
import type { Channel } from '../../functions/delivery/channel.ts'
import { createDeliveryDriver } from '../../functions/delivery/driver.ts'
import { openHttpHarness } from '../http/harness.ts'
import type { HttpHarness } from '../http/harness.ts'

let harness: HttpHarness
afterEach(() => harness.close())

test('a receiver that never responds does not hold up what others get', async () => {
  harness = await openHttpHarness()
  await harness.program.stop()
  const { ports, program } = harness
  const add = (session: string, id: number, to: string) =>
    ports.outbox.add({ tenant: 'default', session, id: `${to}-${id}` }, { kind: 'sheet', target: { to } }, {})
  const sessions = ['one', 'two', 'three']
  await ports.sessions.create({ tenant: 'default', session: 's', agent: 'default', metadata: {} })
  for (const session of sessions) {
    await ports.sessions.create({ tenant: 'default', session, agent: 'default', metadata: {} })
    for (let id = 0; id < 60; id++) await add(session, id, 'silent')
  }
  await add('s', 0, 'prompt')
  const begun: string[] = []
  const channel: Channel = {
    begins: 'hint',
    async deliver({ delivery: { target, id }, signal }) {
      begun.push(id)
      if (target['to'] === 'prompt') return { status: 'delivered' }
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return { again: Date.now() }
    },
  }
  const driver = createDeliveryDriver({
    ...ports,
    channels: new Map([['sheet', channel]]),
    follow: program.service.follow,
  })
  for (const session of [...sessions, 's']) await driver.serve({ tenant: 'default', session })
  await expect.poll(() => begun).toContain('prompt-0')
  expect(begun).toHaveLength(51)
  await driver.handOver()
})

test('what waits for another try hides nothing that is due behind it', async () => {
  harness = await openHttpHarness()
  await harness.program.stop()
  const { ports, program } = harness
  const key = { tenant: 'default', session: 's' }
  await ports.sessions.create({ ...key, agent: 'default', metadata: {} })
  for (let number = 0; number < 250; number++) {
    const waiting = { ...key, id: `a-${String(number).padStart(3, '0')}` }
    await ports.outbox.add(waiting, { kind: 'sheet', target: { to: 'silent' } }, {})
    const seen = await ports.outbox.read(waiting)
    if (seen !== undefined) await ports.outbox.change(seen, { due: ports.clock.now() + 600_000 })
  }
  await ports.outbox.add({ ...key, id: 'b' }, { kind: 'sheet', target: { to: 'prompt' } }, {})
  const begun: string[] = []
  const channel: Channel = {
    begins: 'hint',
    async deliver({ delivery: { id } }) {
      begun.push(id)
      return { status: 'delivered' }
    },
  }
  const driver = createDeliveryDriver({
    ...ports,
    channels: new Map([['sheet', channel]]),
    follow: program.service.follow,
  })
  await driver.serve(key)
  await driver.idle()
  expect(begun).toEqual(['b'])
})

test('deliveries that go the same way have one place together, whatever else their targets say', async () => {
  harness = await openHttpHarness()
  await harness.program.stop()
  const { ports, program } = harness
  const key = { tenant: 'default', session: 's' }
  await ports.sessions.create({ ...key, agent: 'default', metadata: {} })
  for (let number = 0; number < 70; number++) {
    const target = { to: 'silent', text: `another ${number}` }
    await ports.outbox.add({ ...key, id: `a-${number}` }, { kind: 'sheet', target }, {})
  }
  const begun: string[] = []
  const channel: Channel = {
    begins: 'hint',
    destination: ({ to }) => to ?? null,
    async deliver({ delivery: { id }, signal }) {
      begun.push(id)
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return { again: Date.now() }
    },
  }
  const driver = createDeliveryDriver({
    ...ports,
    channels: new Map([['sheet', channel]]),
    follow: program.service.follow,
  })
  await driver.serve(key)
  await expect.poll(() => begun.length).toBe(50)
  await driver.handOver()
  expect(begun).toHaveLength(50)
})
