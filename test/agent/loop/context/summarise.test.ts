import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import { summarise, SummaryFailed } from '../../../../functions/agent/loop/context/summarise.ts'
import { DEFAULT_POLICIES } from '../../../../functions/domain/agent.ts'
import type { Message } from '../../../../functions/domain/messages/message.ts'
import { ModelError } from '../../../../functions/ports/model.ts'
import type { Model } from '../../../../functions/ports/model.ts'
import { completionOf } from '../../harness.ts'
import type { LogReader } from '../../../../functions/ports/log-reader.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const messages = [3, 2, 1].map((place): Message => ({
  ...{ id: `${place}`, role: 'user', runId: 'r', agent: 'default', round: 0, createdAt: 0 },
  parts: [{ type: 'text', text: `message ${place}` }],
}))
const reader = { messages: async () => ({ messages, more: false }) } as unknown as LogReader

test('a summary runs a watchdog while its model is opened, and fails after 30 seconds of opening', async () => {
  const expected: number[] = []
  const met = vi.fn<() => void>()
  const keeper = { startWatchdog: (milliseconds: number) => (expected.push(milliseconds), met), check: () => undefined }
  const models = { open: () => new Promise<never>(() => undefined) }
  const agent = { name: 'default', model: 'a/b', modelOptions: {}, tools: [], policies: DEFAULT_POLICIES }
  const work = { agent, policy: { threshold: 2, keepRecentRatio: 0 }, former: undefined, before: undefined }
  const { signal } = new AbortController()
  const dependencies = { reader, models, clock: createSystemClock(), keeper, count: async () => undefined }
  const made = summarise(dependencies, { tenant: 't', session: 's' }, { ...work, signal }).catch(
    (error: unknown) => error,
  )
  await vi.advanceTimersByTimeAsync(30_000)
  const failure = await made
  expect(failure).toBeInstanceOf(SummaryFailed)
  expect(failure).toMatchObject({ message: 'opening model a/b did not come back within 30 s' })
  expect([expected, met.mock.calls.length]).toEqual([[30_000], 1])
})

const certain = (): ModelError =>
  new ModelError('context_length', 'too long', { retryable: false, status: 400, size: { maxTokens: 900 } })
const odd = (): ModelError => new ModelError('invalid_request', 'no', { retryable: false, status: 400 })
const bare = (): ModelError => new ModelError('context_length', 'too large', { retryable: false, status: 413 })

/**
 * Summarises with a model whose n-th request ends with the n-th outcome. The last outcome repeats, up to 20 requests.
 */
async function summariseWith(
  outcomes: readonly (() => ModelError | undefined)[],
  {
    log = reader,
    learn = async () => undefined,
    limits = {},
  }: { log?: LogReader; learn?: () => Promise<void>; limits?: { readonly [model: string]: number } } = {},
) {
  vi.useRealTimers()
  const requests: number[] = []
  const model: Model = {
    name: 'a/b',
    async *stream() {
      const refusal = outcomes[Math.min(requests.push(0), outcomes.length) - 1]?.()
      if (requests.length > 20) throw new Error('retried without end')
      if (refusal !== undefined) throw refusal
      yield { type: 'completion', completion: completionOf({ text: 'a summary', tokens: 7 }) }
    },
  }
  const agent = { name: 'default', model: 'a/b', modelOptions: {}, tools: [], policies: DEFAULT_POLICIES }
  const work = { agent, policy: { threshold: 2, keepRecentRatio: 0 }, former: undefined, before: undefined }
  const keeper = { startWatchdog: () => () => undefined, check: () => undefined }
  const models = { open: async () => model }
  const learnt = vi.fn<() => Promise<void>>(learn)
  const dependencies = { reader: log, models, clock: createSystemClock(), keeper, count: async () => undefined }
  const { signal } = new AbortController()
  const made = await summarise(
    { ...dependencies, learn: learnt },
    { tenant: 't', session: 's' },
    { ...work, limits, signal },
  ).catch((error: unknown) => error)
  return { made, requests: requests.length, learnt: learnt.mock.calls.length }
}

test('a summary that is refused for different reasons is not retried forever', async () => {
  const { made, requests } = await summariseWith([certain, certain, odd])
  expect(made).toBeInstanceOf(SummaryFailed)
  expect(requests).toBe(3)
})

test('a bare status 413 for a summary records no limit, and is retried three times', async () => {
  expect(await summariseWith([bare])).toMatchObject({ requests: 4, learnt: 0 })
})

test('a failure between two reductions still counts the usage of the completed parts', async () => {
  const long = [5, 4, 3, 2, 1].map((id): Message => ({
    ...{ id: `${id}`, role: 'user', runId: 'r', agent: 'default', round: 0, createdAt: 0 },
    parts: [{ type: 'text', text: 'one two three four five six '.repeat(20) }],
  }))
  const log = { messages: async () => ({ messages: long, more: false }) } as unknown as LogReader
  const learn = async (): Promise<void> => {
    throw new Error('the store failed')
  }
  const { made } = await summariseWith([() => undefined, certain], { log, learn, limits: { 'a/b': 300 } })
  expect(made).toBeInstanceOf(SummaryFailed)
  expect((made as SummaryFailed).message).toBe('the store failed')
  expect((made as SummaryFailed).work?.usage.totalTokens).toBe(7)
})
