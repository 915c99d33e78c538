/* Evidence, usage: A completion still counts against the budget if it is cancelled, or its session is deleted, before its
 * usage arrives. */
import { afterEach, expect, test, vi } from 'vitest'
import { definedFields } from '../../../../functions/domain/defined-fields.ts'
import { LeaseLost } from '../../../../functions/domain/errors.ts'
import { requestCompletion } from '../../../../functions/agent/loop/model/complete.ts'
import { CompletionFailed } from '../../../../functions/agent/loop/model/completion-failed.ts'
import type { RunEvent } from '../../../../functions/domain/events.ts'
import type { ModelRequest } from '../../../../functions/domain/model-request.ts'
import { NO_USAGE } from '../../../../functions/domain/usage/usage.ts'
import type { Usage } from '../../../../functions/domain/usage/usage.ts'
import type { Completion, ModelEvent } from '../../../../functions/ports/model.ts'
import { ModelError } from '../../../../functions/ports/model.ts'
import { completionOf, openHarness } from '../../harness.ts'
import type { Turn } from '../../harness.ts'

const REQUEST: ModelRequest = { messages: [], tools: [], toolChoice: 'auto', options: {} }
const text = (words: string): ModelEvent => ({ type: 'text.delta', part: 0, text: words })
const done: ModelEvent = { type: 'completion', completion: completionOf({ text: 'done' }) }
const tooled = { type: 'tool_call.delta', sequence: 0, toolCallId: 'c', toolName: 't' } as const
const busy = (retryAfterMs?: number): ModelError =>
  new ModelError('rate_limited', 'busy', { retryable: true, ...definedFields({ retryAfterMs }) })
const refused = new ModelError('refused', 'no', { retryable: false })

/**
 * Steps of a model's response. `silence` waits until the signal aborts, and `deaf` waits for ever. A number is a wait
 * in milliseconds.
 */
type Attempt = readonly (ModelEvent | Error | 'silence' | 'deaf' | number)[]

/** Requests a completion from a model with this script, one list per attempt. Waits take no time and are recorded. */
function ask(attempts: readonly Attempt[], signal = new AbortController().signal, check = (): void => undefined) {
  const waits: number[] = []
  const events: RunEvent[] = []
  const counted: Usage[] = []
  let asked = 0
  async function* stream(_: ModelRequest, stop: AbortSignal): AsyncIterable<ModelEvent> {
    for (const step of attempts[asked++] ?? [new Error('the script has no further attempt')]) {
      if (step === 'silence')
        await new Promise((_resolve, reject) => stop.addEventListener('abort', () => reject(stop.reason as Error)))
      else if (step === 'deaf') await new Promise(() => undefined)
      else if (typeof step === 'number') await new Promise((resolve) => setTimeout(resolve, step))
      else if (step instanceof Error) throw step
      else yield step
    }
  }
  const clock = { now: () => 0, sleep: async (milliseconds: number) => void waits.push(milliseconds) }
  const emit = (event: RunEvent): void => void events.push(event)
  const target = {
    model: { name: 'script/ed', stream },
    clock,
    at: { runId: 'r', round: 2 },
    keeper: { startWatchdog: () => () => undefined, check },
    emit,
    count: async (usage: Usage) => void counted.push(usage),
    restart: () => emit({ type: 'round.restarted', runId: 'r', round: 2, reason: 'retry' }),
  }
  const completion = requestCompletion(target, { request: REQUEST, tokens: 50 }, signal)
  return { completion, waits, events, counted, asked: () => asked }
}

const failure = async (completion: Promise<Completion>): Promise<CompletionFailed> => {
  const error: unknown = await completion.catch((reason: unknown) => reason)
  if (error instanceof CompletionFailed) return error
  throw new Error('it did not fail')
}

afterEach(() => {
  vi.useRealTimers()
})

test('a temporary error is retried three times, with growing waits', async () => {
  const { completion, waits, asked } = ask([[busy()], [busy()], [busy()], [busy()]])
  expect(await failure(completion)).toMatchObject({ cause: { code: 'rate_limited' } })
  expect(asked()).toBe(4)
  expect(waits.map((wait) => wait >= 250 && wait <= 500)).toEqual([true, false, false])
  expect(waits.map((wait, count) => wait >= 250 * 2 ** count && wait <= 500 * 2 ** count)).toEqual([true, true, true])
})

test("the provider's delay applies; a delay over a minute fails the request", async () => {
  const { completion, waits } = ask([[busy(7_000)], [busy(60_000)], [done]])
  expect(await completion).toMatchObject({ parts: [{ text: 'done' }] })
  expect(waits).toEqual([7_000, 60_000])
  const long = ask([[busy(60_001)], [done]])
  expect(await failure(long.completion)).toMatchObject({ cause: { code: 'rate_limited' } })
  expect([long.asked(), long.waits]).toEqual([1, []])
})

test('a permanent error is not retried', async () => {
  const { completion, asked } = ask([[refused], [done]])
  expect(await failure(completion)).toMatchObject({ cause: refused })
  expect(asked()).toBe(1)
})

test('no request is sent or retried after the lease has expired', async () => {
  const lost = new LeaseLost('s', 1)
  let checked = 0
  const { completion, asked, events } = ask([[busy()], [done]], undefined, () => {
    if (++checked > 1) throw lost
  })
  expect(await failure(completion)).toMatchObject({ cause: lost })
  expect([asked(), events]).toEqual([1, []])
})

test('each retry emits a discard of the streamed content, and none of this content remains', async () => {
  const { completion, events } = ask([
    [text('first'), busy()],
    [text('sec'), text('ond'), { type: 'reasoning.delta', part: 1, text: 'hm' }, text('!'), refused],
  ])
  const { streamed } = await failure(completion)
  expect(streamed).toEqual([
    { type: 'text', text: 'second' },
    { type: 'reasoning', text: 'hm' },
    { type: 'text', text: '!' },
  ])
  expect(events.map((event) => event.type)).toEqual([
    'text.delta',
    'round.restarted',
    'text.delta',
    'text.delta',
    'reasoning.delta',
    'text.delta',
  ])
})

test('a stream that ends without a completion is retried', async () => {
  const { completion, asked } = ask([[text('cut o')], [done]])
  expect(await completion).toMatchObject({ parts: [{ text: 'done' }] })
  expect(asked()).toBe(2)
})

test('a request without any output for two minutes is retried', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const silent = ask([[text('a'), 'silence'], [done]])
  await vi.advanceTimersByTimeAsync(119_000)
  expect(silent.asked()).toBe(1)
  await vi.advanceTimersByTimeAsync(2_000)
  expect(await silent.completion).toMatchObject({ parts: [{ text: 'done' }] })
})

test('a model that emits output regularly has no time limit', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const slow = ask([[text('a'), 100_000, text('b'), 100_000, text('c'), 100_000, done], [refused]])
  await vi.advanceTimersByTimeAsync(300_000)
  expect(await slow.completion).toMatchObject({ parts: [{ text: 'done' }] })
  expect(slow.asked()).toBe(1)
})

test('a stream that ignores its signal is abandoned', async () => {
  const stop = new AbortController()
  const { completion } = ask([[text('half'), 'deaf']], stop.signal)
  let isOver = false
  void completion.catch(() => (isOver = true))
  await new Promise((resolve) => setImmediate(resolve))
  stop.abort(new Error('enough'))
  await new Promise((resolve) => setImmediate(resolve))
  expect(isOver).toBe(true)
})

test('the usage of an attempt counts only if the attempt streamed content or was aborted locally', async () => {
  const failed = ask([[busy()], [text('some words'), busy()], [{ ...tooled, arguments: '' }, busy()], [done]])
  await failed.completion
  expect(failed.counted).toEqual([{ ...NO_USAGE, inputTokens: 50, outputTokens: 2, totalTokens: 52 }])
  const stop = new AbortController()
  const stopped = ask([['silence'], [done]], stop.signal)
  setTimeout(() => stop.abort(new Error('enough')), 10)
  await failure(stopped.completion)
  expect(stopped.counted).toEqual([{ ...NO_USAGE, inputTokens: 50, outputTokens: 0, totalTokens: 50 }])
  const before = ask([[done]], AbortSignal.abort(new Error('enough')))
  await failure(before.completion)
  expect([before.counted, before.asked()]).toEqual([[], 0])
})

test('an abort ends the request with the abort reason and the streamed content', async () => {
  const stop = new AbortController()
  const { completion, asked } = ask([[text('half'), 'silence'], [done]], stop.signal)
  setTimeout(() => stop.abort(new Error('enough')), 10)
  expect(await failure(completion)).toMatchObject({ cause: { message: 'enough' }, streamed: [{ text: 'half' }] })
  expect(asked()).toBe(1)
})

const unknown = new ModelError('provider_error', 'the model sent 2 frames in an unknown format, and nothing else', {
  retryable: true,
  unknownFrames: 2,
})

test('field/unknown-frames/retried-once: a stream that has only unknown frames is retried once', async () => {
  const both = ask([[unknown], [unknown], [done]])
  expect((await failure(both.completion)).cause).toBe(unknown)
  expect(both.asked()).toBe(2)
  const one = ask([[unknown], [done]])
  expect(await one.completion).toMatchObject({ parts: [{ type: 'text', text: 'done' }] })
  const later = ask([[unknown], [busy()], [busy()], [done]])
  expect(await later.completion).toMatchObject({ finishReason: 'stop' })
})

test('field/unknown-frames/warning · sqlite: the run has one warning, and continues if the retry succeeds', async () => {
  const odd: Turn = async function* () {
    yield* []
    throw unknown
  }
  const harness = await openHarness({ script: [odd, { text: 'hello' }, odd, odd] })
  try {
    const first = await harness.settled(await harness.submit('a'))
    const second = await harness.settled(await harness.submit('b'))
    expect([first.status, second.status, second.error?.code]).toEqual(['completed', 'failed', 'provider_error'])
    const warned = { type: 'warning', code: 'unknown_frames', detail: unknown.message }
    for (const { id } of [first, second])
      expect((await harness.ports.reader.run(harness.key, id))?.notices).toMatchObject([warned])
    expect(harness.requests).toHaveLength(4)
  } finally {
    await harness.close()
  }
})
