/* Evidence, api: The events of a round and its stored completion name one attempt, also after crashes. */
import { afterEach, expect, test } from 'vitest'
import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import type { RunEvent } from '../../../../functions/domain/events.ts'
import { ModelError } from '../../../../functions/ports/model.ts'
import { makeTool, openHarness } from '../../harness.ts'
import type { Harness, Turn } from '../../harness.ts'

let harness: Harness | undefined
afterEach(async () => {
  await harness?.close()
  harness = undefined
})

let ahead = 0
const system = createSystemClock()
/** A clock whose waits are a hundred times shorter. */
const clock = {
  now: () => system.now() + ahead,
  sleep: (ms: number, signal?: AbortSignal) => system.sleep(ms / 100, signal),
}
const broken: Turn = async function* () {
  yield { type: 'text.delta', part: 0, text: 'Half ' }
  throw new ModelError('network', 'broken', { retryable: true })
}
const attemptsOf = (events: readonly RunEvent[]): unknown[] =>
  events.flatMap((event) => {
    if (event.type === 'round.started' || event.type === 'round.restarted') return [[event.round, event.attempt ?? 0]]
    return event.type === 'message.completed' ? [['stored', event.message.attempt ?? 0]] : []
  })

test('each retry raises the number of the attempt, and the next round begins with 0', async () => {
  const look = makeTool('look', async () => ({ text: 'seen' }))
  const script: Turn[] = [broken, broken, { calls: [{ name: 'look' }] }, broken, { text: 'done' }]
  harness = await openHarness({ script, tools: [look], clock })
  const run = await harness.settled(await harness.submit('go'))
  expect(run.status).toBe('completed')
  expect(attemptsOf(harness.events)).toEqual([
    ...[
      [0, 0],
      [0, 1],
      [0, 2],
      ['stored', 2],
    ],
    ...[
      [1, 0],
      [1, 1],
      ['stored', 1],
    ],
  ])
  const stored = (await harness.log()).flatMap((one) => (one.role === 'assistant' ? [one.attempt] : []))
  expect(stored).toEqual([2, 1])
})

test('a holder that takes the run over after a crash begins with a greater number', async () => {
  harness = await openHarness({ script: [{ text: 'done' }], clock })
  const { ports, key, worker } = harness
  const input = { parts: [{ type: 'text', text: 'go' } as const] }
  const run = { agent: 'default', trigger: 'input', onBusy: 'queue', input, clientTools: [], startAs: 'dead' } as const
  const { runId } = await ports.inbox.enqueue(key, run)
  ahead = 61_000
  await worker.serve(key)
  await harness.settled(runId)
  const [first, stored] = attemptsOf(harness.events)
  expect([first, stored]).toEqual([
    [0, 64],
    ['stored', 64],
  ])
})
