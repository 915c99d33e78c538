/* Evidence, usage: A completion still counts against the budget if it is cancelled, or its session is deleted, before its
 * usage arrives. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import type { ModelRequest } from '../../../../functions/domain/model-request.ts'
import { weighText } from '../../../../functions/log/request/token-weight.ts'
import { NO_USAGE } from '../../../../functions/domain/usage/usage.ts'
import { ModelError } from '../../../../functions/ports/model.ts'
import type { ModelEvent } from '../../../../functions/ports/model.ts'
import { until } from '../../../eventually.ts'
import { makeTool, openHarness } from '../../harness.ts'
import type { Harness, Turn } from '../../harness.ts'
import { cancelledWhileStoring } from '../late-cancel.ts'

let harness: Harness | undefined
afterEach(async () => {
  await harness?.close()
  harness = undefined
})
const set = async (options: Parameters<typeof openHarness>[0]): Promise<Harness> =>
  (harness = await openHarness(options))

/** Plays a model that streams some events and then hangs until it is aborted. */
const hanging = (...streamed: ModelEvent[]): Turn =>
  async function* (_: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
    yield* streamed
    await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  }
const LONG = 'Many words of an input, all of which its provider reads and bills. '.repeat(100)
const SAID = 'And so the answer begins, word by word. '.repeat(50)
const saying: ModelEvent = { type: 'text.delta', part: 0, text: SAID }

/** Returns the counts of the ledger by agent: completions, tokens of requests, and all tokens. */
async function counted({ ports, key }: Harness): Promise<Record<string, readonly (number | null)[]>> {
  const sums = await ports.usage.sums({ tenant: key.tenant, from: '2020-01-01', to: '2120-01-01', by: 'agent' })
  return Object.fromEntries(
    sums.map(({ group, completions, usage }) => [group ?? '', [completions, usage.inputTokens, usage.totalTokens]]),
  )
}

/** Matches a number that differs from `tokens` by less than 10 %. */
const about = (tokens: number) => ({
  asymmetricMatch: (found: unknown) => typeof found === 'number' && Math.abs(found - tokens) < tokens / 10,
})
const OF_REQUEST = weighText(LONG)
const OF_BOTH = OF_REQUEST + weighText(SAID)

test('a completion that is cancelled before any output counts the tokens of its request', async () => {
  const { submit, settled, service, key, requests } = await set({ script: [hanging()] })
  const runId = await submit(LONG)
  await until(() => requests.length === 1)
  await service.cancel(key, runId)
  const { status, usage } = await settled(runId)
  expect([status, usage.totalTokens]).toEqual(['cancelled', null])
  expect(await counted(harness as Harness)).toEqual({ default: [1, about(OF_REQUEST), about(OF_REQUEST)] })
})

test.each([
  ['text', saying],
  ['arguments', { type: 'tool_call.delta', sequence: 0, toolCallId: 'c', toolName: 't', arguments: SAID }],
] as const)('a completion that is cancelled during its output also counts the streamed %s', async (_, event) => {
  const { submit, settled, service, key, events } = await set({ script: [hanging(event)] })
  const runId = await submit(LONG)
  await until(() => events.some(({ type }) => type === event.type))
  await service.cancel(key, runId)
  await settled(runId)
  expect(await counted(harness as Harness)).toEqual({ default: [1, about(OF_REQUEST), about(OF_BOTH)] })
})

test('a completion is also counted if its session is deleted', async () => {
  const { submit, key, requests, ports, worker } = await set({ script: [hanging()] })
  await submit(LONG)
  await until(() => requests.length === 1)
  await ports.deletion.tombstone(key)
  await worker.idle()
  expect(await counted(harness as Harness)).toEqual({ default: [1, about(OF_REQUEST), about(OF_REQUEST)] })
})

test('an aborted or broken completion counts its usage before it is requested again', async () => {
  const broken: Turn = async function* () {
    yield saying
  }
  const { submit, events, worker, another } = await set({ script: [broken, hanging(saying)] })
  const runId = await submit(LONG)
  await until(() => events.filter(({ type }) => type === 'text.delta').length === 2)
  worker.cutOff('shutting_down')
  await worker.idle()
  expect(await counted(harness as Harness)).toEqual({ default: [2, about(2 * OF_REQUEST), about(2 * OF_BOTH)] })
  const next = another([{ text: 'done', tokens: 7 }])
  await next.worker.serve(next.key)
  expect(await next.settled(runId)).toMatchObject({ status: 'completed', usage: { totalTokens: 7 } })
  expect(await counted(harness as Harness)).toEqual({ default: [3, about(2 * OF_REQUEST), about(2 * OF_BOTH + 7)] })
})

test('a failed request without usage counts nothing', async () => {
  const failing: Turn = async function* () {
    yield* []
    throw new Error('no')
  }
  const { submit, settled } = await set({ script: [failing] })
  expect(await settled(await submit(LONG))).toMatchObject({ status: 'failed' })
  expect(await counted(harness as Harness)).toEqual({})
})

test('a refusal counts exactly the usage that it reports', async () => {
  const refused: Turn = async function* () {
    yield saying
    const usage = { ...NO_USAGE, inputTokens: 900, outputTokens: 1, totalTokens: 901 }
    throw new ModelError('refused', 'no', { retryable: false, usage })
  }
  const { submit, settled } = await set({ script: [refused] })
  expect(await settled(await submit(LONG))).toMatchObject({ status: 'failed' })
  expect(await counted(harness as Harness)).toEqual({ default: [1, 900, 901] })
})

test('each timed-out request to a silent model counts', async () => {
  const { submit, settled } = await set({
    script: [hanging(), hanging(), hanging(), hanging()],
    modelOptions: { timeoutMs: 50 },
  })
  expect(await settled(await submit(LONG))).toMatchObject({ status: 'failed', error: { code: 'timeout' } })
  expect(await counted(harness as Harness)).toEqual({ default: [4, about(4 * OF_REQUEST), about(4 * OF_REQUEST)] })
})

test('a run that is stored as ended counts its completion once, even after its lease expired', async () => {
  const { submit, key, ports, worker } = await set({
    script: [{ text: 'done', tokens: 7 }],
    change: (from) => ({
      ...from,
      log: {
        ...from.log,
        async endRun(...end) {
          const ended = await from.log.endRun(...end)
          // This wait is longer than the interval between two header reads.
          await sleep(2_000)
          return ended
        },
      },
    }),
  })
  const runId = await submit('go')
  await until(async () => (await ports.reader.run(key, runId))?.status === 'completed')
  await worker.idle()
  expect(await counted(harness as Harness)).toEqual({ default: [1, null, 7] })
})

test('a completion that is dropped, after a cancel or without the required call, counts the provider’s usage', async () => {
  const slow = makeTool('slow', async () => ({ text: 'x'.repeat(60_000) }))
  const { submit, settled, service, key, requests } = await set({
    script: [{ text: 'no call', tokens: 3 }, { calls: [{ name: 'slow' }], tokens: 5 }, { calls: [{ name: 'slow' }] }],
    tools: [slow],
    policies: { requireTool: 'any' },
    change: cancelledWhileStoring(
      () => requests.length === 3,
      () => service.cancel(key, runId),
    ),
  })
  const runId = await submit('go')
  expect(await settled(runId)).toMatchObject({ status: 'cancelled', usage: { totalTokens: 5 } })
  expect(await counted(harness as Harness)).toEqual({ default: [3, null, 3 + 5 + 10] })
})

test('aborted completions of members count under the members’ names', async () => {
  const delegate = { name: 'delegate_task_to_member', arguments: JSON.stringify({ member: 'helper', task: LONG }) }
  const { submit, settled, service, key, events } = await set({
    script: [{ calls: [delegate] }],
    team: { helper: { script: [hanging(saying)] } },
  })
  const runId = await submit('go')
  await until(() => events.some(({ type }) => type === 'text.delta'))
  await service.cancel(key, runId)
  await settled(runId)
  expect(await counted(harness as Harness)).toMatchObject({
    default: [1, null, 10],
    helper: [1, about(OF_REQUEST), about(OF_BOTH)],
  })
})

test('an aborted summary counts as a summary', async () => {
  const { submit, settled, service, key, requests } = await set({
    script: [{ text: 'one' }, { text: 'two' }, hanging(saying)],
    policies: { consolidation: { threshold: 2, keepRecentRatio: 0 } },
  })
  for (const text of [LONG, 'more']) await settled(await submit(text))
  const runId = await submit('again')
  await until(() => requests.length === 3)
  await service.cancel(key, runId)
  await settled(runId)
  const { summary } = await counted(harness as Harness)
  expect(summary?.map(Number.isInteger)).toEqual([true, true, true])
  expect(summary?.[0]).toBe(1)
  expect(summary?.[1]).toBeGreaterThan(OF_REQUEST)
})

test('a summary that its provider refuses counts no usage', async () => {
  const refused: Turn = async function* () {
    yield* []
    throw new ModelError('refused', 'no', { retryable: false })
  }
  const { submit, settled } = await set({
    script: [{ text: 'one' }, { text: 'two' }, refused, { text: 'three' }],
    policies: { consolidation: { threshold: 2, keepRecentRatio: 0 } },
  })
  for (const text of ['a', 'b', 'c']) expect(await settled(await submit(text))).toMatchObject({ status: 'completed' })
  expect(await counted(harness as Harness)).toEqual({ default: [3, null, 30] })
})

test.each([
  ['fails', () => Promise.reject(new Error('out of order'))],
  ['never responds', () => new Promise<void>(() => undefined)],
])('a usage ledger that %s does not prevent a run from ending', async (_, count) => {
  const { submit, settled, service, key, requests } = await set({
    script: [hanging()],
    change: (ports) => ({ ...ports, usage: { ...ports.usage, count } }),
  })
  const runId = await submit('go')
  await until(() => requests.length === 1)
  await service.cancel(key, runId)
  expect(await settled(runId)).toMatchObject({ status: 'cancelled' })
})
