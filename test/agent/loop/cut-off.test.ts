import { afterEach, expect, test } from 'vitest'
import type { ModelRequest } from '../../../functions/domain/model-request.ts'
import { ModelError } from '../../../functions/ports/model.ts'
import type { ModelEvent } from '../../../functions/ports/model.ts'
import { makeTool, openHarness } from '../harness.ts'
import type { Harness, Turn } from '../harness.ts'
import { until } from '../../eventually.ts'

let harness: Harness | undefined
afterEach(async () => {
  await harness?.close()
  harness = undefined
})

/** Plays a model that streams a text and then reasons until its time limit. */
async function* thinking(_: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
  yield { type: 'text.delta', part: 0, text: 'Let me think' }
  await new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}

async function* failing(error: Error): AsyncIterable<ModelEvent> {
  yield* []
  throw error
}

const said = ({ events }: Pick<Harness, 'events'>): Promise<void> =>
  until(() => events.some(({ type }) => type === 'text.delta'))

test('an aborted completion is not stored, counts as no crash, and is requested again by the next process', async () => {
  harness = await openHarness({ script: [thinking] })
  const { key, ports, worker, events, log } = harness
  const runId = await harness.submit('go')
  await said(harness)
  const left = worker.handOff()
  worker.cutOff('out_of_time')
  expect(await left).toEqual([key])
  expect(events.at(-1)).toMatchObject({ type: 'round.restarted', runId, round: 0, reason: 'handed_over' })
  expect((await log()).map(({ role }) => role)).toEqual(['user'])
  const header = await ports.lease.readHeader(key)
  expect(header).toMatchObject({ activeRun: runId, takeovers: 0 })
  expect([header?.lease, await ports.janitor.due(ports.clock.now(), 10)]).toMatchObject([undefined, [{ key }]])

  const other = harness.another([{ text: 'done' }])
  await other.worker.serve(key)
  expect((await other.settled(runId)).status).toBe('completed')
})

test('a shutdown never ends a run: each process requests the aborted completion again', async () => {
  harness = await openHarness({ script: [thinking] })
  const { key, ports, another, log } = harness
  const runId = await harness.submit('go')
  await said(harness)
  harness.worker.cutOff('shutting_down')
  await harness.worker.idle()

  for (let stop = 0; stop < 4; stop++) {
    const next = another([thinking])
    const serving = next.worker.serve(key)
    await said(next)
    next.worker.cutOff('shutting_down')
    await serving
    expect(next.events.at(-1)).toMatchObject({ type: 'round.restarted', round: 0, reason: 'handed_over' })
    expect(await ports.lease.readHeader(key)).toMatchObject({ activeRun: runId, takeovers: 0 })
  }
  expect((await log()).map(({ role }) => role)).toEqual(['user'])
  const last = another([{ text: 'done' }])
  await last.worker.serve(key)
  expect((await last.settled(runId)).status).toBe('completed')
})

test('a run that waits to retry its model is handed off at once', async () => {
  const overloaded = new ModelError('rate_limited', 'later', { retryable: true, retryAfterMs: 50_000 })
  harness = await openHarness({ script: [() => failing(overloaded)] })
  const { key, ports, requests, worker, another } = harness
  const runId = await harness.submit('go')
  await until(() => requests.length === 1)
  worker.cutOff('shutting_down')
  await worker.idle()
  expect((await ports.lease.readHeader(key))?.lease).toBeUndefined()
  const other = another([{ text: 'done' }])
  await other.worker.serve(key)
  expect((await other.settled(runId)).status).toBe('completed')
})

test('a completion that took the entire lifetime of its process and was aborted fails with its streamed text', async () => {
  harness = await openHarness({ script: [thinking] })
  const runId = await harness.submit('go')
  await said(harness)
  harness.worker.cutOff('out_of_time')
  await harness.worker.idle()

  const other = harness.another([thinking])
  const serving = other.worker.serve(harness.key)
  await said(other)
  other.worker.cutOff('out_of_time')
  await serving
  const run = await other.settled(runId)
  expect(run).toMatchObject({ status: 'failed', error: { code: 'timeout' } })
  expect((await harness.log()).at(-1)).toMatchObject({
    parts: [
      { type: 'text', text: 'Let me think' },
      { type: 'error', code: 'timeout' },
    ],
  })
})

test('an aborted completion is requested again by the next process if its holder had stored a round', async () => {
  const quick = makeTool('quick', async () => ({ text: 'at once' }))
  harness = await openHarness({ script: [thinking], tools: [quick] })
  const runId = await harness.submit('go')
  await said(harness)
  harness.worker.cutOff('out_of_time')
  await harness.worker.idle()

  const other = harness.another([{ calls: [{ name: 'quick' }] }, thinking])
  const serving = other.worker.serve(harness.key)
  await said(other)
  other.worker.cutOff('out_of_time')
  await serving
  const third = harness.another([{ text: 'done' }])
  await third.worker.serve(harness.key)
  expect((await third.settled(runId)).status).toBe('completed')
})

const consolidation = { threshold: 3, keepRecentRatio: 0.3 }

/** Opens a session whose next run begins with a summary. */
async function longConversation(script: readonly Turn[]): Promise<Harness> {
  const one = await openHarness({ script: [{ text: 'a' }, { text: 'b' }, ...script], policies: { consolidation } })
  for (const question of ['one', 'two']) await one.settled(await one.submit(question))
  return one
}

test('a summary that took the entire lifetime of its process fails; the next process continues the run', async () => {
  harness = await longConversation([thinking])
  const { key, requests, worker, another } = harness
  const runId = await harness.submit('three')
  await until(() => requests.length === 3)
  worker.cutOff('out_of_time')
  await worker.idle()

  const second = another([thinking])
  const serving = second.worker.serve(key)
  await until(() => second.requests.length === 1)
  second.worker.cutOff('out_of_time')
  await serving
  const third = another([{ text: 'done' }])
  await third.worker.serve(key)
  const run = await third.settled(runId)
  expect(run.status).toBe('completed')
  expect(run.notices?.filter(({ type }) => type === 'warning')).toMatchObject([{ code: 'summary_failed' }])
  expect(third.requests).toHaveLength(1)
})

test('usage of a summary’s first part counts, even after an abort or a cancel', async () => {
  for (const stop of ['hand over', 'cancel']) {
    const policies = { consolidation, contextTokens: 2_000 }
    const long = 'word '.repeat(700)
    harness = await openHarness({
      script: [{ text: long }, { text: 'b' }, { text: 'part', tokens: 70 }, thinking],
      policies,
    })
    const { key, ports, requests, worker, service } = harness
    for (const question of [long, 'two']) await harness.settled(await harness.submit(question))
    const runId = await harness.submit('three')
    await until(() => requests.length === 4)
    if (stop === 'cancel') await service.cancel(key, runId)
    else worker.cutOff('out_of_time')
    await worker.idle()
    expect(requests.at(-1)?.messages).toHaveLength(1)
    expect((await ports.reader.run(key, runId))?.usageByAgent['summary']?.totalTokens).toBe(70)
    await harness.close()
  }
  harness = undefined
})

test('an aborted completion that shared its process with a summary is requested again', async () => {
  harness = await longConversation([thinking])
  const { key, requests, worker, another } = harness
  const runId = await harness.submit('three')
  await until(() => requests.length === 3)
  worker.cutOff('out_of_time')
  await worker.idle()

  const second = another([{ text: 'so far' }, thinking])
  const serving = second.worker.serve(key)
  await said(second)
  second.worker.cutOff('out_of_time')
  await serving
  const third = another([{ text: 'done' }])
  await third.worker.serve(key)
  expect((await third.settled(runId)).status).toBe('completed')
})
