import { getEventListeners } from 'node:events'
import { afterEach, expect, test, vi } from 'vitest'
import { createEventBus } from '../../../functions/agent/following/event-bus.ts'
import { followRun } from '../../../functions/agent/following/event-feed.ts'
import type { RunEvent } from '../../../functions/domain/events.ts'
import type { ModelEvent } from '../../../functions/ports/model.ts'
import { completionOf, makeTool, openHarness } from '../harness.ts'
import type { Harness } from '../harness.ts'
import { PATIENCE_MS } from '../../eventually.ts'

let harness: Harness | undefined
afterEach(async () => {
  vi.useRealTimers()
  await harness?.close()
  harness = undefined
})

const key = { tenant: 't', session: 's' }
const delta = (round: number, text: string): RunEvent => ({ type: 'text.delta', runId: 'r', round, part: 0, text })
const soon = (): AbortSignal => AbortSignal.timeout(PATIENCE_MS)

test('a consumer that does not read loses deltas, is told so, and holds no more than a thousand events', async () => {
  const bus = createEventBus()
  const slow = bus.subscribe(key)
  for (let count = 0; count < 2_500; count++) bus.emit(key, delta(0, String(count)))
  const { events, gap } = await slow.next(1_000)
  expect(gap).toBe(true)
  expect(events.length).toBeLessThanOrEqual(1_000)
  expect(events.at(-1)).toEqual(delta(0, '2499'))
  expect((await slow.next(1)).gap).toBe(false)
})

test('a consumer hears of its own session alone, and of nothing once it has closed', async () => {
  const bus = createEventBus()
  const [mine, closed] = [bus.subscribe(key), bus.subscribe(key)]
  closed.close()
  bus.emit({ ...key, session: 'other' }, delta(0, 'other'))
  bus.emit(key, delta(0, 'mine'))
  expect((await mine.next(1)).events).toEqual([delta(0, 'mine')])
  expect((await closed.next(1)).events).toEqual([])
})

test('a consumer that waits for events goes on when one comes, when it closes, and after its time', async () => {
  const bus = createEventBus()
  const [told, closed, patient] = [bus.subscribe(key), bus.subscribe({ ...key, session: 'other' }), bus.subscribe(key)]
  const waits = [told.next(60_000), closed.next(60_000)]
  bus.emit(key, delta(0, 'a'))
  bus.emit(key, delta(0, 'b'))
  closed.close()
  expect(await Promise.all(waits)).toMatchObject([{ events: [delta(0, 'a'), delta(0, 'b')] }, { events: [] }])
  expect(await closed.next(60_000)).toEqual({ events: [], gap: false })
  await patient.next(60_000)
  expect(await patient.next(10)).toEqual({ events: [], gap: false })
})

test('following a run that says nothing ends as soon as its consumer leaves', async () => {
  let answer = (): void => undefined
  const thinks = async function* (): AsyncIterable<ModelEvent> {
    yield { type: 'text.delta', part: 0, text: 'hm' }
    await new Promise<void>((resolve) => (answer = resolve))
    yield { type: 'completion', completion: completionOf({ text: 'hm' }) }
  }
  harness = await openHarness({ script: [thinks] })
  const left = new AbortController()
  const following = harness.service.follow(harness.key, await harness.submit('go'), { signal: left.signal })
  const events = following[Symbol.asyncIterator]()
  for (let type = ''; type !== 'text.delta';) type = ((await events.next()).value as RunEvent).type
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const next = events.next()
  await new Promise((resolve) => setImmediate(resolve))
  left.abort()
  expect(await next).toEqual({ done: true, value: undefined })
  expect(getEventListeners(left.signal, 'abort')).toEqual([])
  answer()
})

test('what streamed of a round does not come after the round as it was stored', async () => {
  harness = await openHarness({
    script: [{ calls: [{ name: 'echo' }] }, { text: 'done' }],
    tools: [makeTool('echo', async () => ({ text: '' }))],
  })
  const { ports, submit, settled } = harness
  const runId = await submit('go')
  await settled(runId)
  const bus = createEventBus()
  const run = ports.reader.run.bind(ports.reader)
  let looks = 0
  const reader: typeof ports.reader = {
    ...ports.reader,
    // A process that sees the log before it hears of what streamed into it; the run ends a little later.
    run: async (at, id) => {
      const found = await run(at, id)
      looks++
      if (looks === 1) {
        bus.emit(at, { ...delta(0, 'stale'), runId })
        bus.emit(at, { ...delta(2, 'fresh'), runId })
      }
      return looks === 1 && found !== undefined ? { ...found, status: 'running' } : found
    },
  }
  const seen: RunEvent[] = []
  const following = followRun({ reader, lease: ports.lease, clock: ports.clock, bus }, harness.key, runId, {
    signal: soon(),
  })
  for await (const event of following) seen.push(event)
  expect(seen.flatMap((event) => (event.type === 'text.delta' ? [event.text] : []))).toEqual(['fresh'])
  expect(seen.at(-1)?.type).toBe('run.completed')
})
