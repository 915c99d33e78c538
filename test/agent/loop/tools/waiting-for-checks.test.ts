/* Evidence, limits: Runs that wait for checks of arguments keep their leases, and each sends its request to the model once. */
import { afterEach, expect, test } from 'vitest'
import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import type { Clock } from '../../../../functions/ports/clock.ts'
import { completionOf, openHarness } from '../../harness.ts'
import type { Harness } from '../../harness.ts'

let harness: Harness
afterEach(() => harness.close())

/** Time passes ten times faster: a run is stalled after 3 s, and checks wait for 1 s. */
const HASTE = 10
const system = createSystemClock()
const START = Date.now()
const clock: Clock = {
  now: () => START + HASTE * (Date.now() - START),
  sleep: (milliseconds, signal) => system.sleep(milliseconds / HASTE, signal),
}

const RUNS = 6
const CALLS = 6
const entry = {
  anyOf: [{ type: 'string' }, { type: 'object', required: ['a'], properties: { a: { type: 'number' } } }],
}
const parameters = { type: 'object', properties: { items: { type: 'array', items: entry } } } as const
/** Valid arguments of about 130 KB. A check takes about 0.1 s, and the pause after it three times as long. */
const text = JSON.stringify({ items: Array.from({ length: 12_000 }, (_, a) => ({ a })) })

test('runs that wait for each other’s checks hold their leases, and each asks its model once', async () => {
  const calls = Array.from({ length: CALLS }, (_, n) => ({ id: `c${n}`, name: 'save', arguments: text }))
  const turn = async function* () {
    yield { type: 'completion', completion: completionOf({ calls }) } as const
  }
  harness = await openHarness({ script: Array.from({ length: 4 * RUNS }, () => turn), clock })
  const { ports, service, worker, requests } = harness
  const clientTools = [{ name: 'save', description: 'saves', parameters, strict: true }]
  const runs: { session: string; runId: string }[] = []
  for (let n = 0; n < RUNS; n++) {
    const session = await ports.sessions.create({ tenant: 'default', session: `t${n}`, agent: 'default', metadata: {} })
    const input = { parts: [{ type: 'text', text: 'go' }], clientTools } as const
    const { runId } = await service.submit(session, input, { here: true })
    runs.push({ session: session.session, runId })
  }
  await worker.idle()
  for (const { session, runId } of runs) {
    const run = await ports.reader.run({ tenant: 'default', session }, runId)
    expect(run?.status).toBe('paused')
  }
  expect(requests).toHaveLength(RUNS)
})
