/* Evidence, api: A holder emits the events that readers derive from the log, once and in the same order. */
import { afterEach, expect, test } from 'vitest'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import type { Ports } from '../../../functions/runtime/program.ts'
import { until } from '../../eventually.ts'
import { makeTool, openHarness } from '../harness.ts'
import type { Harness } from '../harness.ts'
import {
  clientTools,
  derivedEvents,
  EVENTS_OF_PAUSE,
  resolveInPause,
  RESOLUTIONS,
  RESOLVED_IN_PAUSE,
  withIds,
} from './resolved-in-pause.ts'

let harness: Harness
afterEach(() => harness.close())

/** Plays a run whose client resolves a call while another call executes. A cancel then ends the run. Returns its id. */
async function cancelledAfterResult(change?: (ports: Ports) => Ports): Promise<string> {
  const endless = makeTool('endless', () => new Promise(() => undefined))
  const calls = [
    { id: 'a', name: 'endless' },
    { id: 'b', name: 'ask' },
    { id: 'c', name: 'endless' },
  ]
  harness = await openHarness({ script: [{ calls }], tools: [endless], ...(change && { change }) })
  const { service, session, events } = harness
  const runId = await harness.submit('go', { clientTools })
  await until(async () => events.filter(({ type }) => type === 'tool_call.started').length === 3)
  const results = [{ toolCallId: 'b', output: [{ type: 'text', text: '42' }] }] as const
  await service.resolve(session, runId, results, { here: true })
  await service.cancel(harness.key, runId)
  await harness.settled(runId)
  return runId
}

test('the holder emits the end of a call that a client resolved just before a cancel', async () => {
  const runId = await cancelledAfterResult()
  const live = withIds(harness.events)
  expect(live).toEqual(await derivedEvents(harness, runId))
  const ends = live.flatMap((event) => (event.type === 'tool_call.completed' ? [event.message] : []))
  expect(ends.map(({ toolCallId, status }) => [toolCallId, status])).toEqual([
    ['a', 'interrupted'],
    ['b', 'completed'],
    ['c', 'interrupted'],
  ])
})

test('a run ends even if its resolved calls cannot be read; readers get call ends from the log', async () => {
  const runId = await cancelledAfterResult((ports) => ({
    ...ports,
    reader: { ...ports.reader, message: () => Promise.reject(new Error('the store is down')) },
  }))
  expect(harness.events.at(-1)).toMatchObject({ type: 'run.cancelled' })
  expect(harness.events.filter(({ type }) => type === 'tool_call.completed')).toEqual([])
  const derived = await derivedEvents(harness, runId)
  expect(derived.filter(({ type }) => type === 'tool_call.completed')).toHaveLength(3)
})

test('the holder emits the end of a resolved call that it read, but did not record', async () => {
  const slow = Promise.withResolvers<void>()
  const tool = makeTool('slow', async () => (await slow.promise, { text: 'ran' }))
  let cancel: (() => Promise<void>) | undefined
  harness = await openHarness({
    script: [
      {
        calls: [
          { id: 'a', name: 'slow' },
          { id: 'b', name: 'ask' },
        ],
      },
    ],
    tools: [tool],
    // The holder reads the row of the resolved call, then the run's newest request. The cancel arrives during this second read.
    change: (ports) => ({
      ...ports,
      reader: {
        ...ports.reader,
        async message(...asked) {
          const found = await ports.reader.message(...asked)
          await cancel?.()
          cancel = undefined
          return found
        },
      },
    }),
  })
  const { service, session, key, events } = harness
  const runId = await harness.submit('go', { clientTools })
  await until(async () => events.filter(({ type }) => type === 'tool_call.started').length === 2)
  const results = [{ toolCallId: 'b', output: [{ type: 'text', text: '42' }] }] as const
  await service.resolve(session, runId, results, { here: true })
  cancel = async () => {
    await service.cancel(key, runId)
    // The holder polls the header every 500 ms.
    await new Promise((resolve) => setTimeout(resolve, 1_200))
  }
  slow.resolve()
  expect((await harness.settled(runId)).status).toBe('cancelled')
  expect(withIds(harness.events)).toEqual(await derivedEvents(harness, runId))
})

test('the events of a run that records decisions are equal live and in the log', async () => {
  const faulty = makeTool('faulty', async () => ({ text: 'found', sources: [{ url: 'https://example.com' }] as never }))
  harness = await openHarness({ tools: [faulty], script: [{ calls: [{ name: 'faulty' }] }, { text: 'done' }] })
  const runId = await harness.submit('go')
  await harness.settled(runId)
  const live = withIds(harness.events)
  expect(live.map(({ type }) => type)).toContain('warning')
  expect(live).toEqual(await derivedEvents(harness, runId))
})

test('the holder emits the ends of calls that clients resolved in a pause, before it resumes', async () => {
  harness = await openHarness(RESOLVED_IN_PAUSE)
  const { live, derived, sincePause } = await resolveInPause(harness)
  expect(sincePause).toEqual(EVENTS_OF_PAUSE)
  expect(live).toEqual(derived)
})

test('a run that is cancelled in a pause emits the ends of calls resolved before the cancel', async () => {
  harness = await openHarness(RESOLVED_IN_PAUSE)
  const runId = await harness.submit('go', { clientTools })
  await harness.settled(runId)
  const results = [{ toolCallId: 'b', output: [{ type: 'text', text: '42' }] }] as const
  await harness.service.resolve(harness.session, runId, results, { here: true })
  await harness.service.cancel(harness.key, runId)
  await until(async () => harness.events.at(-1)?.type === 'run.cancelled')
  expect(withIds(harness.events)).toEqual(await derivedEvents(harness, runId))
})

test('a run resumes although the calls of its pause cannot be read', async () => {
  let isDown = false
  harness = await openHarness({
    ...RESOLVED_IN_PAUSE,
    change: (ports) => ({
      ...ports,
      reader: {
        ...ports.reader,
        message: (...asked) =>
          isDown ? Promise.reject(new Error('the store is down')) : ports.reader.message(...asked),
      },
    }),
  })
  const { service, session, events } = harness
  const runId = await harness.submit('go', { clientTools })
  await harness.settled(runId)
  isDown = true
  await service.resolve(session, runId, RESOLUTIONS, { here: true })
  await until(async () => events.at(-1)?.type === 'run.completed')
  const resumed = events.findIndex(({ type }) => type === 'run.resumed')
  expect(resumed).toBeGreaterThan(0)
  expect(events.slice(0, resumed).filter(({ type }) => type === 'tool_call.completed')).toEqual([])
})

test('a holder that takes over a resumed run does not emit the ends of its paused calls again', async () => {
  let ahead = 0
  const clock = { ...createSystemClock(), now: () => Date.now() + ahead }
  harness = await openHarness({ ...RESOLVED_IN_PAUSE, clock })
  const { ports, key, service, session, events, worker } = harness
  const runId = await harness.submit('go', { clientTools })
  await harness.settled(runId)
  await service.resolve(session, runId, RESOLUTIONS, { here: false })
  const seen = await ports.lease.readHeader(key)
  if (seen === undefined) throw new Error('there is no session')
  expect(await ports.lease.take(seen, 'dead')).toBeDefined()
  ahead = 61_000
  await worker.serve(key)
  await harness.settled(runId)
  const ended = events.flatMap((event) => (event.type === 'tool_call.completed' ? [event.message.toolCallId] : []))
  expect(ended).toEqual(['c'])
})
