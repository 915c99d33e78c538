import { afterEach, expect, test, vi } from 'vitest'
import { inTime } from '../../functions/ports/time-limited.ts'
import { sweep } from '../../functions/agent/worker/sweeper.ts'
import { createDeliveryDriver } from '../../functions/delivery/driver.ts'
import { hintDueDeliveries } from '../../functions/delivery/due-deliveries.ts'
import { serveHint } from '../../functions/agent/worker/serve-hint.ts'
import { openHarness } from '../agent/harness.ts'
import type { Harness } from '../agent/harness.ts'
import type { Ports } from '../../functions/runtime/program.ts'
import type { Run } from '../../functions/domain/runs/run.ts'
import type { SessionKey } from '../../functions/domain/session.ts'

let harness: Harness | undefined
afterEach(async () => {
  vi.useRealTimers()
  await harness?.close()
  harness = undefined
})

const never = (): Promise<never> => new Promise(() => undefined)
/** A store that accepts requests and never responds. */
const stalled = (ports: Ports): Ports => ({
  ...ports,
  janitor: { ...ports.janitor, due: never, postpone: never },
  deletion: { ...ports.deletion, state: never, tombstone: never },
  inbox: { ...ports.inbox, enqueue: never, cancel: never },
  outbox: { ...ports.outbox, due: never, pending: never },
})

test('a sweep, a hint and a request fail at their time limit if the store does not respond', async () => {
  harness = await openHarness({ script: [], change: stalled })
  const { ports, service, session, key, worker } = harness
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const asked = {
    'a sweep': sweep(ports),
    'a sweep of deliveries': hintDueDeliveries(ports),
    'a delivery': createDeliveryDriver({ ...ports, channels: new Map(), follow: service.follow }).serve(key),
    'a hint': serveHint({ ...ports, worker }, key, Infinity),
    'an input': service.submit(session, { parts: [{ type: 'text', text: 'hi' }], clientTools: [] }, { here: true }),
    'a cancel': service.cancel(key, 'a run'),
    'a deletion': service.deleteSession(key),
  }
  // Records each outcome without waiting for it: a request without a response must fail by its own limit.
  const reported = new Map<string, unknown>()
  for (const [who, asks] of Object.entries(asked))
    asks.then(
      (value) => reported.set(who, value),
      (error: unknown) => reported.set(who, error),
    )
  await vi.advanceTimersByTimeAsync(30_000)
  for (const who of Object.keys(asked))
    expect(reported.get(who), who).toMatchObject({ code: 'storage_failed', retryable: true })
})

test('results and errors within the time limit are passed on unchanged', async () => {
  const failure = new Error('refused')
  const key = { tenant: 't', session: 's' }
  const run = { id: '1' } as Run
  const reader = {
    run: async (_key: SessionKey, id: string) => (id === run.id ? run : undefined),
    message: (_key: SessionKey, _id: string) => Promise.reject(failure),
  }
  const limited = inTime({ reader, clock: { sleep: never } })
  expect(await limited.reader.run(key, '1')).toBe(run)
  await expect(limited.reader.message(key, '1')).rejects.toBe(failure)
  expect(limited.clock.sleep).toBe(never)
})
