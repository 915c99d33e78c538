import { describe, expect, test } from 'vitest'
import type { RunEvent } from '../../../functions/domain/events.ts'
import type { AssistantMessage, ToolMessage } from '../../../functions/domain/messages/message.ts'
import { createRunSteps } from '../../../functions/http/run-steps/run-steps.ts'

const runId = '01JD2Q8N4T6W8Y0A2C4E6G8J0K'
const base = { runId, agent: 'default', createdAt: 0 }
const idOf = (number: number): string => `01JD2Q8N4T6W8Y0A2C4E6G8J${String(number).padStart(2, '0')}`
const callRow = (number: number, of: object = {}): ToolMessage =>
  ({
    ...{ ...base, ...of, id: idOf(number), round: 0, role: 'tool', toolCallId: `c${number}`, toolName: 'pay' },
    ...{ arguments: '{}', status: 'completed', parts: [{ type: 'text', text: 'paid' }] },
  }) as unknown as ToolMessage
const ended = (message: ToolMessage, of: object = {}): RunEvent => ({
  ...{ type: 'tool_call.completed' as const, id: `${message.id}:tool_call.completed`, runId, message, ...of },
})
const started = (of: object = {}): RunEvent => ({ type: 'round.started', runId, round: 1, ...of })
const text = (of: object = {}): RunEvent => ({ type: 'text.delta', runId, round: 1, part: 0, text: 'Paid.', ...of })
const answer: AssistantMessage = {
  ...{ ...base, id: idOf(9), round: 1, role: 'assistant', toolCalls: [] },
  parts: [{ type: 'text', text: 'Paid.' }],
}
const completed: RunEvent = { type: 'message.completed', id: `${answer.id}:message.completed`, runId, message: answer }

/** Returns the types of the steps that a follower gets after it has received everything up to the pause. */
function typesOf(open: readonly ToolMessage[], events: readonly RunEvent[]): string[] {
  const steps = createRunSteps({ after: idOf(5), open })
  return events.flatMap((event) => steps.take(event)).map(({ type }) => type)
}

describe('a round that streams before the end of an approved call', () => {
  const call = callRow(1)

  test('is held back until the call has ended', () => {
    const live = typesOf([call], [started(), text(), ended(call), completed])
    const stored = typesOf([call], [ended(call), started(), text(), completed])
    expect(live).toEqual(stored)
    expect(live[0]).toBe('call_ended')
  })

  test('is held back until all approved calls have ended', () => {
    const other = callRow(2)
    const live = typesOf([call, other], [ended(call), started(), text(), ended(other), completed])
    expect(live).toEqual(['call_ended', 'call_ended', 'round', 'text', 'completion'])
  })

  test('is emitted at once if another member produced it', () => {
    const member = { agent: 'other', parentToolCallId: 'd', parentMessageId: idOf(3) }
    const own = callRow(4, member)
    const live = typesOf([callRow(3), own], [started(member), text(member), ended(own, member)])
    expect(live).toEqual(['call_ended', 'round', 'text'])
    expect(typesOf([callRow(3)], [started(member), text(member)])).toEqual(['round', 'text'])
  })
})
