/* Evidence, cloud: After a hand-off, a warm function serves sessions as before. */
/* Evidence, cloud: No function is frozen while a tool ignores its timeout. A later run gets a hint. */
/* Evidence, house: Spans reach an OTLP endpoint, and are sent before a function freezes. */
import type { Context } from 'aws-lambda'
import { afterEach, expect, test } from 'vitest'
import type { ModelRequest } from '../../../functions/domain/model-request.ts'
import type { ModelEvent } from '../../../functions/ports/model.ts'
import type { Hint } from '../../../functions/ports/run-queue.ts'
import { invoke } from '../../../functions/runtime/lambda/invocation.ts'
import { makeTool, openHarness } from '../../agent/harness.ts'
import type { Harness } from '../../agent/harness.ts'

let harness: Harness | undefined
afterEach(async () => {
  await harness?.close()
  harness = undefined
})

interface Seen {
  readonly hints: Hint[]
  readonly warnings: string[]
  flushed: number
  /** Number of requests with spans. */
  sent: number
}

/**
 * Runs an invocation. The invocation is notified of its deadline only after `begun` resolves, so that the test does not
 * depend on the machine's speed.
 */
function invoked({ ports, worker }: Harness, begun: Promise<void> = Promise.resolve()) {
  const seen: Seen = { hints: [], warnings: [], flushed: 0, sent: 0 }
  const logger = {
    begin: () => undefined,
    identify: () => undefined,
    info: () => undefined,
    warn: (message: string) => void seen.warnings.push(message),
    error: (message: string) => void seen.warnings.push(message),
  }
  const queue = {
    // The send is slow: if the invocation does not wait for it, the hint is missing at the end of the invocation.
    async send(hint: Hint) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      seen.hints.push(hint)
    },
  }
  const metrics = { flush: () => void seen.flushed++ }
  const traces = Promise.resolve({ flush: async () => void seen.sent++ })
  const sleep = (milliseconds: number, signal?: AbortSignal): Promise<void> =>
    milliseconds < A_SECOND ? begun : ports.clock.sleep(milliseconds, signal)
  return {
    seen,
    loop: {
      ports: { clock: { ...ports.clock, sleep }, queue },
      ...{ worker, deliveries: NO_DELIVERIES, logger, metrics, traces, checkSecrets: async () => undefined },
      stopMarginMs: 1_000,
    },
  }
}

const NO_DELIVERIES = { idle: async () => undefined, handOff: async () => [], resume: () => undefined }

const left = (milliseconds: number): Context => ({ getRemainingTimeInMillis: () => milliseconds }) as Context
let begin = (): void => undefined
const slow = makeTool('slow', async () => {
  begin()
  await new Promise((resolve) => setTimeout(resolve, 150))
  return { text: 'slept' }
})
const A_SECOND = 1_000
/** Resolves when the tool `slow` is executed, or when a request is sent to a model that calls `begin`. */
const untilBegun = (): Promise<void> => new Promise((resolve) => (begin = resolve))

test('an invocation ends after the run that it started, even if its response was sent earlier', async () => {
  harness = await openHarness({ script: [{ calls: [{ name: 'slow' }] }, { text: 'done' }], tools: [slow] })
  const { loop, seen } = invoked(harness)
  const { submit, events } = harness
  await invoke(loop, left(60_000), 0, () => submit('go'))
  expect(events.at(-1)?.type).toBe('run.completed')
  expect([seen.hints, seen.flushed, seen.sent]).toEqual([[], 1, 1])
})

test('spans of an invocation are recorded from its start and sent before its end', async () => {
  const steps: string[] = []
  harness = await openHarness({ script: [{ text: 'done' }] })
  const { loop } = invoked(harness)
  const { submit, events } = harness
  const begun = new Promise((resolve) => setTimeout(resolve, 50)).then(() => steps.push('recorded'))
  const flush = async (): Promise<void> => {
    steps.push(`sent after ${events.at(-1)?.type}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
    steps.push('taken')
  }
  await invoke({ ...loop, traces: begun.then(() => ({ flush })) }, left(60_000), 0, async () => {
    steps.push('worked')
    await submit('go')
  })
  expect(steps).toEqual(['recorded', 'worked', 'sent after run.completed', 'taken'])
})

test('an invocation waits for its run even if its response failed', async () => {
  harness = await openHarness({ script: [{ calls: [{ name: 'slow' }] }, { text: 'done' }], tools: [slow] })
  const { loop } = invoked(harness)
  const { submit, events } = harness
  const failing = invoke(loop, left(60_000), 0, async () => {
    await submit('go')
    throw new Error('the caller has left')
  })
  await expect(failing).rejects.toThrow('the caller has left')
  expect(events.at(-1)?.type).toBe('run.completed')
})

test('an invocation waits for a call that ignored its timeout, so that no work continues later', async () => {
  let end = (): void => undefined
  const deaf = {
    ...makeTool('deaf', async () => {
      await new Promise<void>((resolve) => (end = resolve))
      return { text: 'late' }
    }),
    timeoutMs: 20,
  }
  harness = await openHarness({ script: [{ calls: [{ name: 'deaf' }] }, { text: 'done' }], tools: [deaf] })
  const { loop } = invoked(harness)
  const { submit, settled } = harness
  let isOver = false
  let runId = ''
  const invocation = invoke(loop, left(60_000), 0, async () => void (runId = await submit('go')))
  void invocation.then(() => (isOver = true))
  await expect.poll(() => runId).not.toBe('')
  expect(await settled(runId)).toMatchObject({ status: 'completed' })
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(isOver).toBe(false)
  end()
  await invocation
})

test("a run still active near its invocation's deadline is handed off, and the hint counts one more hop", async () => {
  harness = await openHarness({ script: [{ calls: [{ name: 'slow' }] }], tools: [slow] })
  const { loop, seen } = invoked(harness, untilBegun())
  const { submit, another, key } = harness
  const runId = await invoke(loop, left(1_050), 4, () => submit('go'))
  expect([seen.hints, seen.flushed]).toEqual([[{ ...key, hops: 5 }], 1])
  const other = another([{ text: 'done' }])
  await other.worker.serve(key)
  expect((await other.settled(runId)).status).toBe('completed')
})

test('work that was handed off a hundred times without a pause is left to the sweeper', async () => {
  harness = await openHarness({ script: [{ calls: [{ name: 'slow' }] }], tools: [slow] })
  const { loop, seen } = invoked(harness, untilBegun())
  const { submit, ports, key } = harness
  await invoke(loop, left(1_050), 100, () => submit('go'))
  expect(seen.hints).toEqual([])
  expect(seen.warnings).toHaveLength(1)
  expect(await ports.janitor.due(ports.clock.now(), 10)).toMatchObject([{ key }])
})

test('a run that waits for its model at the deadline is aborted and handed off', async () => {
  async function* endless(_: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
    yield { type: 'text.delta', part: 0, text: 'Let me think' }
    begin()
    await new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    })
  }
  harness = await openHarness({ script: [endless] })
  const { loop, seen } = invoked(harness, untilBegun())
  const { submit, another, key } = harness
  const runId = await invoke(loop, left(1_050), 0, () => submit('go'))
  expect([seen.hints, seen.flushed]).toEqual([[{ ...key, hops: 1 }], 1])
  const other = another([{ text: 'done' }])
  await other.worker.serve(key)
  expect((await other.settled(runId)).status).toBe('completed')
})

test('after a hand-off, a warm function serves as many invocations as before, and continues the run', async () => {
  const some = Array.from({ length: 6 }, () => ({ text: 'done' }))
  harness = await openHarness({
    script: [...some, { calls: [{ name: 'slow' }] }, { text: 'slept' }, ...some],
    tools: [slow],
  })
  const { loop, seen } = invoked(harness, untilBegun())
  const { submit, settled, worker, key, log } = harness
  const served: string[] = []
  const serveAll = async (): Promise<void> => {
    for (const _ of some) served.push(await invoke(loop, left(60_000), 0, () => submit('go')))
  }
  await serveAll()
  const handedOn = await invoke(loop, left(1_050), 0, () => submit('go'))
  expect([(await harness.ports.reader.run(key, handedOn))?.status, seen.hints]).toEqual([
    'running',
    [{ ...key, hops: 1 }],
  ])
  await invoke(loop, left(60_000), 1, () => worker.serve(key))
  await serveAll()
  for (const runId of [...served, handedOn]) expect((await settled(runId)).status).toBe('completed')
  expect((await log()).filter(({ role }) => role === 'user')).toHaveLength(13)
  expect(seen).toMatchObject({ hints: [{ hops: 1 }], warnings: [], flushed: 14 })
})
