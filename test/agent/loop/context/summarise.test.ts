import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import { summarise, SummaryFailed } from '../../../../functions/agent/loop/context/summarise.ts'
import { DEFAULT_POLICIES } from '../../../../functions/domain/agent.ts'
import type { Message } from '../../../../functions/domain/messages/message.ts'
import type { LogReader } from '../../../../functions/ports/log-reader.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const messages = [3, 2, 1].map((place): Message => ({
  ...{ id: `${place}`, role: 'user', runId: 'r', agent: 'default', round: 0, createdAt: 0 },
  parts: [{ type: 'text', text: `message ${place}` }],
}))
const reader = { messages: async () => ({ messages, more: false }) } as unknown as LogReader

test('a model that does not open is not awaited: no summary is made, and the watchdog runs', async () => {
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
