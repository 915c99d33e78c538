import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { createEventFilter } from '../../../functions/agent/events/event-filter.ts'
import {
  callCompleted,
  callProgress,
  messageCompleted,
  roundOfMessage,
  roundRestarted,
  roundStarted,
} from '../../../functions/log/run-events.ts'
import type { AssistantMessage, ToolMessage } from '../../../functions/domain/messages/message.ts'

const [completion, first, second] = ['1', '2', '3'].map((end) => `01J0000000000000000000000${end}`)
const runId = '01J00000000000000000000000'
const row = (id = ''): ToolMessage => ({
  ...{ id, runId, role: 'tool', agent: 'default', assistantMessageId: completion ?? '', toolCallId: 'c1' },
  ...{
    toolName: 'dig',
    call: 'dig()',
    sequence: 0,
    round: 0,
    status: 'running',
    parts: [],
    generation: 1,
    createdAt: 0,
  },
})

test('deltas of a round count as new only after the round has started or restarted', () => {
  const filter = createEventFilter()
  const delta = (round: number): boolean => filter.isNew({ type: 'text.delta', runId, round, part: 0, text: 'x' })
  expect(delta(0)).toBe(false)
  filter.isNew(roundStarted({ runId, round: 0 }, undefined))
  expect([delta(0), delta(1)]).toEqual([true, false])
  filter.isNew(roundRestarted({ runId, round: 1 }, 1, 'retry'))
  expect(delta(1)).toBe(true)
})

test("progress events stop after the call's end event", () => {
  const filter = createEventFilter()
  const news = (id?: string): boolean => filter.isNew(callProgress(row(id), { progress: 1 }))
  expect([news(first), news(first), news(second)]).toEqual([true, true, true])
  expect(filter.isNew(callCompleted(row(first)))).toBe(true)
  expect([news(first), news(second)]).toEqual([false, true])
  filter.forget(first)
  expect([news(first), news(second)]).toEqual([false, true])
  filter.forget(second)
  expect(news(second)).toBe(false)
})

test('the filter’s memory is bounded, however many messages of members the log has', () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const filter = createEventFilter()
  const idOf = (n: number): string => `01J${String(n).padStart(23, '0')}`
  const answer = (n: number, member = {}): AssistantMessage => ({
    ...{ id: idOf(n), runId, role: 'assistant', agent: 'default', round: 3, createdAt: 0, parts: [], toolCalls: [] },
    ...member,
  })
  const areNews = (message: AssistantMessage): boolean[] =>
    [roundStarted(roundOfMessage(message), message.attempt), messageCompleted(message)].map((event) =>
      filter.isNew(event),
    )
  const emit = (message: AssistantMessage): boolean[] => {
    const news = areNews(message)
    filter.pass(message.id)
    return news
  }
  expect(emit(answer(1))).toEqual([true, true])
  collect()
  const before = process.memoryUsage().heapUsed
  for (let n = 2; n < 200_000; n++) emit(answer(n, { parentToolCallId: 'c', parentMessageId: idOf(n) }))
  collect()
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(4_000_000)
  expect([...areNews(answer(1)), ...areNews(answer(150_000))]).toEqual([false, false, false, false])
  expect(emit(answer(200_000, { parentToolCallId: 'd', parentMessageId: idOf(200_000) }))).toEqual([true, true])
})
