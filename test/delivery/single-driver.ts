import type { Channel } from '../../functions/delivery/channel.ts'
import { createDeliveryDriver } from '../../functions/delivery/driver.ts'
import type { DeliveryDriver } from '../../functions/delivery/driver.ts'
import { openHttpHarness } from '../http/harness.ts'
import type { HttpHarness } from '../http/harness.ts'

export interface SingleDriver {
  readonly harness: HttpHarness
  readonly driver: DeliveryDriver
  /** Milliseconds by which the driver's clock is ahead of real time. */
  readonly time: { ahead: number }
  /** Adds a pending delivery of this session for the channel. */
  add(session: string, id: string, target: { readonly [name: string]: string }): Promise<unknown>
}

/** Opens a driver for the channel `sheet` beside a stopped program. No other process delivers or sweeps. */
export async function openSingleDriver(channel: Channel): Promise<SingleDriver> {
  const harness = await openHttpHarness()
  await harness.program.stop()
  const { ports, program } = harness
  const time = { ahead: 0 }
  return {
    harness,
    time,
    driver: createDeliveryDriver({
      ...ports,
      clock: { ...ports.clock, now: () => Date.now() + time.ahead },
      channels: new Map([['sheet', channel]]),
      follow: program.service.follow,
    }),
    add: (session, id, target) => ports.outbox.add({ tenant: 'default', session, id }, { kind: 'sheet', target }, {}),
  }
}

export const openSession = ({ ports }: HttpHarness, session: string): Promise<unknown> =>
  ports.sessions.create({ tenant: 'default', session, agent: 'default', metadata: {} })
