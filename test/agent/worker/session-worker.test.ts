import { afterEach, expect, test } from 'vitest'
import { LeaseLost } from '../../../functions/domain/errors.ts'
import type { SessionHeader } from '../../../functions/domain/session.ts'
import type { Ports } from '../../../functions/runtime/program.ts'
import { openHarness } from '../harness.ts'
import type { Harness } from '../harness.ts'

let harness: Harness
afterEach(() => harness.close())

const LATER = Date.now() + 3_600_000
const HEADER: SessionHeader = {
  status: 'live',
  generation: 1,
  queued: 0,
  waiting: 0,
  paused: false,
  takeovers: 0,
} as never
const LEASE = { owner: 'another', until: LATER }

/**
 * Returns the names of the port calls that a worker makes when it reads these headers one after the other. Each `take`
 * and `start` is refused.
 */
async function asked(...headers: readonly Partial<SessionHeader>[]): Promise<string[]> {
  const calls: string[] = []
  const left = [...headers]
  const change = (ports: Ports): Ports => ({
    ...ports,
    lease: {
      ...ports.lease,
      readHeader: async () => ({ ...HEADER, ...left.shift() }),
      take: async () => void calls.push('take'),
      start: async () => void calls.push('start'),
    },
    janitor: {
      ...ports.janitor,
      clearDue: async () => {
        calls.push('clearDue')
        return true
      },
    },
  })
  harness = await openHarness({ script: [], change })
  await harness.worker.serve(harness.key)
  return calls
}

test.each<[string, string[], ...Partial<SessionHeader>[]]>([
  ['takes a run that another process holds', [], { activeRun: 'r', lease: LEASE }],
  ['starts a queued run in a session that another process holds', [], { queued: 1, lease: LEASE }],
  ['touches a deleted session', [], { status: 'deleted', queued: 1 }],
  ['writes to a session without work', [], {}],
])('a worker never %s', async (_, expected, ...headers) => {
  expect(await asked(...headers)).toEqual(expected)
})

test('a worker does not take a paused run, and clears its due flag', async () => {
  expect(await asked({ activeRun: 'r', paused: true, waiting: 1, due: 1 })).toEqual(['clearDue'])
})

test('a session that is due without work is no longer due after a check', async () => {
  expect(await asked({ due: 1 })).toEqual(['clearDue'])
})

test('a worker whose `take` or `start` is refused reads the header again', async () => {
  expect(await asked({ activeRun: 'r' }, { queued: 1 }, { activeRun: 'r', lease: LEASE })).toEqual(['take', 'start'])
})

test('a stopping worker starts no run', async () => {
  harness = await openHarness({ script: [{ text: 'hello' }] })
  await harness.worker.stop()
  const input = { parts: [{ type: 'text', text: 'hi' }] } as const
  await harness.ports.inbox.enqueue(harness.key, {
    agent: 'default',
    trigger: 'input',
    onBusy: 'queue',
    input,
    clientTools: [],
  })
  await harness.worker.serve(harness.key)
  expect(harness.requests).toEqual([])
  expect(await harness.ports.lease.readHeader(harness.key)).toMatchObject({ queued: 1 })
})

test('a holder that lost its lease stops serving the session without a further read', async () => {
  let isLost = false
  const change = (ports: Ports): Ports => ({
    ...ports,
    log: {
      ...ports.log,
      endRun: async (lease) => {
        isLost = true
        throw new LeaseLost(lease.session, lease.generation)
      },
    },
    lease: {
      ...ports.lease,
      async readHeader(key) {
        if (isLost) throw new Error('it looks again')
        return ports.lease.readHeader(key)
      },
    },
  })
  harness = await openHarness({ script: [{ text: 'hello' }], change })
  const input = { parts: [{ type: 'text', text: 'hi' }] } as const
  await harness.ports.inbox.enqueue(harness.key, {
    agent: 'default',
    trigger: 'input',
    onBusy: 'queue',
    input,
    clientTools: [],
  })
  await expect(harness.worker.serve(harness.key)).resolves.toBeUndefined()
  expect(isLost).toBe(true)
})
