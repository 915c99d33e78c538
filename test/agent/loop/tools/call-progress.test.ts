/* Evidence, api: A run keeps the tools of its MCP servers. A server that is down causes a warning. */
import { expect, test } from 'vitest'
import { throttledProgress } from '../../../../functions/agent/loop/tools/call-progress.ts'
import type { CallProgress, RunEvent } from '../../../../functions/domain/events.ts'
import type { ToolMessage } from '../../../../functions/domain/messages/message.ts'
import { createManualClock } from '../../../contracts/stores.ts'

const row: ToolMessage = {
  ...{ id: '01J00000000000000000000002', runId: '01J00000000000000000000000', role: 'tool', agent: 'default' },
  ...{ assistantMessageId: '01J00000000000000000000001', toolCallId: 'c1', toolName: 'dig', call: 'dig()' },
  ...{ sequence: 0, round: 0, status: 'running', parts: [], generation: 1, createdAt: 0 },
}

function reporter() {
  const clock = createManualClock()
  const events: RunEvent[] = []
  const report = throttledProgress({ clock, emit: (event) => void events.push(event) }, row)
  return { clock, events, report }
}

test('followers get the progress of a call at most once per second', () => {
  const { clock, events, report } = reporter()
  for (let step = 1; step <= 3_000; step++) {
    report({ progress: step, total: 3_000, text: `hole ${step}` })
    clock.advance(1)
  }
  const names = { runId: row.runId, messageId: row.id, toolCallId: 'c1', toolName: 'dig' }
  expect(events).toEqual(
    [1, 1_001, 2_001].map((step) => ({
      type: 'tool_call.progress',
      ...names,
      ...{ progress: step, total: 3_000, text: `hole ${step}` },
    })),
  )
})

test('progress that is not a number is dropped, and texts of progress are limited to one line', () => {
  const { clock, events, report } = reporter()
  const says = (howFar: object): void => {
    clock.advance(1_000)
    // A tool from outside of this repository may report values of any type.
    report(howFar as CallProgress)
  }
  for (const progress of [Number.NaN, Infinity, '3', undefined]) says({ progress })
  expect(events).toEqual([])
  says({ progress: 0, total: Infinity, text: '' })
  says({ progress: 1, total: '5', text: 7 })
  says({ progress: 2, text: `\ud83d${'x'.repeat(100_000)}` })
  expect(events.map((event) => ({ ...event, type: undefined, runId: undefined }))).toMatchObject([
    { progress: 0 },
    { progress: 1 },
    { progress: 2, text: `\ufffd${'x'.repeat(299)}` },
  ])
  for (const event of events.slice(0, 2)) for (const field of ['total', 'text']) expect(event).not.toHaveProperty(field)
})
