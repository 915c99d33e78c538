/* Evidence, limits: While a follower waits for a run to start, the run's input is not kept in memory. */
/* Evidence, limits: After a follower disconnects, in any format, the store is no longer read for that follower. */
import { getEventListeners } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, expect, test, vi } from 'vitest'
import { createEventBus } from '../../../functions/agent/events/event-bus.ts'
import { followRun } from '../../../functions/agent/events/follow-run.ts'
import { sharedReader } from '../../../functions/agent/events/coalescing-reader.ts'
import type { RunEvent } from '../../../functions/domain/events.ts'
import type { Run } from '../../../functions/domain/runs/run.ts'
import type { RunLease } from '../../../functions/ports/run-lease.ts'
import type { LogReader } from '../../../functions/ports/log-reader.ts'
import type { ModelEvent } from '../../../functions/ports/model.ts'
import { completionOf, makeTool, openHarness } from '../harness.ts'
import type { Harness } from '../harness.ts'
import { HANG_TIMEOUT_MS } from '../../eventually.ts'

let harness: Harness | undefined
afterEach(async () => {
  vi.useRealTimers()
  await harness?.close()
  harness = undefined
})

const key = { tenant: 't', session: 's' }
const delta = (round: number, text: string): RunEvent => ({ type: 'text.delta', runId: 'r', round, part: 0, text })
const soon = (): AbortSignal => AbortSignal.timeout(HANG_TIMEOUT_MS)

const began: RunEvent = { type: 'round.started', runId: 'r', round: 0 }

test("a consumer that stops reading has a bounded event queue, and later gets the round's stream again", async () => {
  const bus = createEventBus()
  bus.emit(key, began)
  const slow = bus.subscribe(key)
  for (let count = 0; count < 2_500; count++) bus.emit(key, delta(0, `${count} `))
  const all = Array.from({ length: 2_500 }, (_, count) => `${count} `).join('')
  expect(await slow.next(1_000)).toEqual({ events: [began, delta(0, all)], gap: false })
  bus.emit(key, delta(0, 'more'))
  expect(await slow.next(1_000)).toEqual({ events: [delta(0, 'more')], gap: false })
})

test('a burst of deltas does not make a reading consumer fall behind', async () => {
  const bus = createEventBus()
  const quick = bus.subscribe(key)
  bus.emit(key, began)
  bus.emit(key, delta(0, 'Well, '))
  expect((await quick.next(1_000)).events).toEqual([began, delta(0, 'Well, ')])
  for (let count = 0; count < 2_000; count++) bus.emit(key, delta(0, 'word '))
  bus.emit(key, delta(1, 'next'))
  const { events } = await quick.next(1_000)
  expect(events).toEqual([delta(0, 'word '.repeat(2_000)), delta(1, 'next')])
})

test('a consumer that missed stored events reads the log, and then the live stream', async () => {
  const bus = createEventBus()
  const slow = bus.subscribe(key)
  bus.emit(key, began)
  bus.emit(key, delta(0, 'x'.repeat(50_000)))
  bus.emit(key, { type: 'message.completed', id: 'm:message.completed', runId: 'r' } as RunEvent)
  expect(await slow.next(1_000)).toEqual({ events: [], gap: true })
  bus.emit(key, { ...began, round: 1 })
  bus.emit(key, delta(1, 'y'.repeat(50_000)))
  expect((await slow.next(1_000)).events).toEqual([{ ...began, round: 1 }, delta(1, 'y'.repeat(50_000))])
})

test('a waiting consumer gets even a long event at once', async () => {
  const bus = createEventBus()
  const quick = bus.subscribe(key)
  const next = quick.next(60_000)
  bus.emit(key, delta(0, 'x'.repeat(50_000)))
  expect(await next).toMatchObject({ events: [{ type: 'text.delta' }], gap: false })
})

test('a consumer gets events of its own session only, and none after it has closed', async () => {
  const bus = createEventBus()
  const [mine, closed] = [bus.subscribe(key), bus.subscribe(key)]
  closed.close()
  bus.emit({ ...key, session: 'other' }, delta(0, 'other'))
  bus.emit(key, delta(0, 'mine'))
  expect((await mine.next(1)).events).toEqual([delta(0, 'mine')])
  expect((await closed.next(1)).events).toEqual([])
})

test('a wait for events ends when an event arrives, when the consumer closes, and at its timeout', async () => {
  const bus = createEventBus()
  const [emitted, closed, waiting] = [
    bus.subscribe(key),
    bus.subscribe({ ...key, session: 'other' }),
    bus.subscribe(key),
  ]
  const waits = [emitted.next(60_000), closed.next(60_000)]
  bus.emit(key, delta(0, 'a'))
  bus.emit(key, delta(0, 'b'))
  closed.close()
  expect(await Promise.all(waits)).toMatchObject([{ events: [delta(0, 'ab')] }, { events: [] }])
  expect(await closed.next(60_000)).toEqual({ events: [], gap: false })
  await waiting.next(60_000)
  expect(await waiting.next(10)).toEqual({ events: [], gap: false })
})

test('following a silent run ends as soon as its consumer disconnects', async () => {
  let complete = (): void => undefined
  const thinks = async function* (): AsyncIterable<ModelEvent> {
    yield { type: 'text.delta', part: 0, text: 'hm' }
    await new Promise<void>((resolve) => (complete = resolve))
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
  complete()
})

test('a follower in another process gets the end of a call while another call executes', async () => {
  let release = (): void => undefined
  harness = await openHarness({
    script: [{ calls: [{ name: 'quick' }, { name: 'slow' }] }, { text: 'done' }],
    tools: [
      makeTool('quick', async () => ({ text: 'quick' })),
      makeTool('slow', () => new Promise((resolve) => (release = () => resolve({ text: 'slow' })))),
    ],
  })
  const { ports, submit, key: session } = harness
  const { reader, lease } = ports
  const elsewhere = { reader, lease, worker: { isServing: () => false }, bus: createEventBus() }
  const runId = await submit('go')
  const emitted: string[] = []
  for await (const event of followRun(elsewhere, session, runId, { signal: soon() })) {
    if (event.type !== 'tool_call.completed') continue
    emitted.push(event.message.toolName)
    release()
  }
  expect(emitted).toEqual(['quick', 'slow'])
})

test('streamed deltas of a round are not emitted after the stored round', async () => {
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
    // Events are streamed during the first read, which still shows a running run. Later reads show the ended run.
    run: async (at, id) => {
      const found = await run(at, id)
      looks++
      if (looks === 1) {
        bus.emit(at, { ...delta(0, 'stale'), runId })
        bus.emit(at, { ...began, runId, round: 2 })
        bus.emit(at, { ...delta(2, 'fresh'), runId })
      }
      return looks === 1 && found !== undefined ? { ...found, status: 'running' } : found
    },
  }
  const seen: RunEvent[] = []
  const following = followRun({ reader, lease: ports.lease, worker: harness.worker, bus }, harness.key, runId, {
    signal: soon(),
  })
  for await (const event of following) seen.push(event)
  expect(seen.flatMap((event) => (event.type === 'text.delta' ? [event.text] : []))).toEqual(['fresh'])
  expect(seen.at(-1)?.type).toBe('run.completed')
})

test("a slow consumer reads the newest log, not the result of another consumer's earlier read", async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  let run = { id: 'r', status: 'running', startedAt: 1 } as Run
  let isSlow = false
  let release = (): void => undefined
  const reader = {
    run: async () => {
      const found = run
      if (isSlow) await new Promise<void>((resolve) => (release = resolve))
      return found
    },
    messages: async () => ({ messages: [], more: false }),
  } as unknown as LogReader
  const bus = createEventBus()
  const lease = {
    readHeaderEventually: async () => undefined,
    readHeader: async () => undefined,
  } as unknown as RunLease
  const left = new AbortController()
  const following = followRun({ reader, lease, worker: { isServing: () => true }, bus }, key, 'r', left)
  const next = async (): Promise<string | undefined> => ((await following.next()).value as RunEvent | undefined)?.type
  expect(await next()).toBe('run.started')
  bus.emit(key, began)
  expect(await next()).toBe('round.started')

  isSlow = true
  const other = sharedReader(reader).reader.run(key, 'r')
  isSlow = false
  run = { ...run, status: 'completed' }
  bus.emit(key, delta(0, 'x'.repeat(50_000)))
  bus.emit(key, { type: 'run.completed', id: 'r:run.completed', runId: 'r', run } as RunEvent)
  const last = next()
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  release()
  await other
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  left.abort()
  expect(await last).toBe('run.completed')
})

test('polling stops after the consumer disconnects', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  let poll = 0
  const lease = {
    readHeaderEventually: async () => void poll++,
    readHeader: async () => undefined,
  } as unknown as RunLease
  const run = { id: 'r', status: 'running', startedAt: 1 } as Run
  const reader = { run: async () => run, messages: async () => ({ messages: [], more: false }) } as unknown as LogReader
  const left = new AbortController()
  const worker = { isServing: () => true }
  const following = followRun({ reader, lease, worker, bus: createEventBus() }, key, 'r', left)
  expect((await following.next()).done).toBe(false)
  left.abort()
  await vi.advanceTimersByTimeAsync(5_000)
  poll = 0
  await vi.advanceTimersByTimeAsync(60_000)
  expect(poll).toBe(0)
})

test("while a client waits for a queued run, the run's input is not kept in memory", async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const read: WeakRef<object>[] = []
  const reader = {
    run: async () => {
      const run = { id: 'r', status: 'queued', input: { parts: [] } } as unknown as Run
      read.push(new WeakRef(run.input ?? {}), new WeakRef(run))
      return run
    },
  } as unknown as LogReader
  const lease = {
    readHeaderEventually: async () => undefined,
    readHeader: async () => undefined,
  } as unknown as RunLease
  const left = new AbortController()
  const worker = { isServing: () => false }
  const following = followRun({ reader, lease, worker, bus: createEventBus() }, key, 'r', left)
  const queued = await following.next()
  const last = following.next()
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  collect()
  expect(read.map((one) => one.deref())).toEqual([undefined, undefined])
  expect(queued.value).toMatchObject({ type: 'run.queued', hasInput: true })
  left.abort()
  expect((await last).done).toBe(true)
})
