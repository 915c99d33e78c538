import { afterEach, expect, test } from 'vitest'
import { claimDelivery, ClaimLost } from '../../functions/delivery/claim.ts'
import type { Claim } from '../../functions/delivery/claim.ts'
import { LEASE_MS } from '../../functions/domain/session.ts'
import { openHttpHarness } from '../http/harness.ts'
import type { HttpHarness } from '../http/harness.ts'

const KEY = { tenant: 'default', session: 's' }

let harness: HttpHarness
let claim: Claim
afterEach(async () => {
  await claim.end()
  await harness.close()
})

/** Claims a delivery that no program handles. The claim's clock waits only 20 ms, and is `time.ahead` ms ahead. */
async function open({ slowMs = 0 } = {}) {
  const time = { ahead: 0 }
  harness = await openHttpHarness({})
  const { outbox: fast, sessions, inbox, clock: system, logger } = harness.ports
  const outbox: typeof fast = {
    ...fast,
    async change(...change) {
      await system.sleep(slowMs)
      return fast.change(...change)
    },
  }
  await harness.program.stop()
  await sessions.create({ ...KEY, agent: 'default', metadata: {} })
  const input = { parts: [{ type: 'text', text: 'hi' }] } as const
  const run = { agent: 'default', trigger: 'input', onBusy: 'queue', clientTools: [], input } as const
  const { runId } = await inbox.enqueue(KEY, { ...run, delivery: { kind: 'paper', target: {} } })
  const stored = () => outbox.read({ ...KEY, id: runId })
  const seen = await stored()
  const clock = {
    now: () => system.now() + time.ahead,
    sleep: (_: number, signal?: AbortSignal) => system.sleep(20, signal),
  }
  const taken = seen && (await claimDelivery({ outbox, clock, logger }, seen, new AbortController().signal))
  if (taken === undefined) throw new Error('the delivery could not be claimed')
  claim = taken
  return { outbox, stored, time }
}

test('a claim is renewed while its work continues', async () => {
  const { stored, time } = await open()
  const before = (await stored())?.due ?? 0
  time.ahead = LEASE_MS / 2
  await expect.poll(async () => (await stored())?.due).toBeGreaterThan(before)
  expect(claim.signal.aborted).toBe(false)
})

test('a worker that lost its claim is aborted, and its next change fails', async () => {
  const { outbox, stored } = await open()
  const seen = await stored()
  if (seen !== undefined) await outbox.change(seen, { owner: 'another', state: { by: 'another' } })
  await expect(claim.change({ state: { by: 'me' } })).rejects.toThrow(ClaimLost)
  expect(claim.signal.aborted).toBe(true)
  expect((await stored())?.state).toEqual({ by: 'another' })
})

test('a delivery that ends while a renewal waits does not become due again', async () => {
  const { stored } = await open({ slowMs: 60 })
  // In this test, the claim is renewed every 20 ms.
  await claim.change({ status: 'delivered', owner: null, due: null })
  await claim.end()
  const left = await stored()
  expect(left).toMatchObject({ status: 'delivered' })
  expect(left).not.toHaveProperty('due')
})
