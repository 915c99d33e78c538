import { afterEach, beforeEach, expect, test } from 'vitest'
import { createSystemClock } from '../../functions/adapters/memory/system-clock.ts'
import { keepLease } from '../../functions/agent/lease-keeper.ts'
import type { LeaseKeeper } from '../../functions/agent/lease-keeper.ts'
import type { Lease } from '../../functions/domain/session.ts'
import type { RunLease } from '../../functions/ports/run-lease.ts'

let ahead = 0
const clock = { ...createSystemClock(), now: () => Date.now() + ahead }
const logger = { info: () => undefined, warn: () => undefined, error: () => undefined }
const never = (): Promise<never> => new Promise(() => undefined)
const leases: RunLease = {
  look: never,
  start: never,
  take: never,
  claim: never,
  heartbeat: never,
  release: never,
}
let keeper: LeaseKeeper | undefined
beforeEach(() => {
  ahead = 0
})
afterEach(() => keeper?.stop())

/** Under a store that never answers. */
function keep(): LeaseKeeper {
  const until = clock.now() + 60_000
  const lease: Lease = { tenant: 't', session: 's', generation: 3, owner: 'o', runId: 'r', until, head: undefined }
  keeper = keepLease({ lease: leases, clock, logger }, lease)
  return keeper
}

const aborted = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(signal.reason))
  })

test('work stops ten seconds before the end of a lease whose heartbeats are not answered', async () => {
  const { signal } = keep()
  ahead = 49_000
  await clock.sleep(700)
  expect(signal.aborted).toBe(false)
  ahead = 50_000
  expect(await aborted(signal)).toMatchObject({ code: 'lease_lost' })
})

test('a process that stood still knows by the clock alone that it must not begin anything', () => {
  const { check } = keep()
  expect(check).not.toThrow()
  ahead = 50_001
  expect(check).toThrow(/no longer holds the lease/)
})
