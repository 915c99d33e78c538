import { expect, test } from 'vitest'
import { createMemberResults } from '../../../functions/agent/events/run-timeline.ts'
import type { ToolMessage } from '../../../functions/domain/messages/message.ts'
import { callCompleted } from '../../../functions/log/run-events.ts'

const call = (id: string, text = ''): ToolMessage => ({
  ...{ id, runId: 'r', role: 'tool', agent: 'default', assistantMessageId: 'a', toolCallId: 'c', toolName: 'delegate' },
  ...{ call: '', sequence: 0, round: 0, status: 'completed', generation: 1, createdAt: 0 },
  parts: [{ type: 'text', text }],
})
const idsOf = (events: readonly object[]): unknown[] => events.map((event) => 'id' in event && event.id)

test('the result of a nested member is emitted before the result of the member that delegated to it', () => {
  const results = createMemberResults()
  for (const one of ['outer', 'inner']) expect(results.add(call(one), [callCompleted(call(one))])).toEqual([])
  expect(results.isEmpty()).toBe(false)
  expect(idsOf(results.take())).toEqual(['inner:tool_call.completed', 'outer:tool_call.completed'])
  expect([results.isEmpty(), results.take()]).toEqual([true, []])
})

test.each([
  ['1,000 calls', '', 1_000],
  ['8 million characters', 'x'.repeat(1_000_000), 8],
])('events of ended delegate calls are held back up to a limit of %s', (_most, text, count) => {
  const results = createMemberResults()
  const add = (n: number): readonly object[] => results.add(call(`${n}`, text), [callCompleted(call(`${n}`, text))])
  for (let n = 0; n < count; n++) expect(add(n)).toEqual([])
  expect(add(count)).toHaveLength(count + 1)
  expect(results.isEmpty()).toBe(true)
})
