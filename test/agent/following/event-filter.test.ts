import { expect, test } from 'vitest'
import { createEventFilter } from '../../../functions/agent/following/event-filter.ts'
import { callCompleted, callProgress } from '../../../functions/log/run-events.ts'
import type { ToolMessage } from '../../../functions/domain/message.ts'

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

test('how far a call is, is news until its end has been told', () => {
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
