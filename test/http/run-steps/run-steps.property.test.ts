import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RunEvent } from '../../../functions/domain/events.ts'
import type { AssistantMessage, AssistantPart } from '../../../functions/domain/messages/message.ts'
import { createRunSteps } from '../../../functions/http/run-steps/run-steps.ts'

const part = fc.oneof(
  fc.record({ type: fc.constantFrom('text', 'reasoning'), text: fc.string({ minLength: 1, maxLength: 12 }) }),
  fc.record({ type: fc.constant('call'), arguments: fc.json({ maxDepth: 1 }) }),
)
type MadePart = { type: string; text?: string; arguments?: string }

const runId = '01JD2Q8N4T6W8Y0A2C4E6G8J0K'
function messageOf(parts: readonly MadePart[]): AssistantMessage {
  const toolCalls = parts
    .filter(({ type }) => type === 'call')
    .map(({ arguments: text = '' }, at) => ({ id: `c${at}`, name: 'look', arguments: text }))
  let at = 0
  const stored = parts.map((one): AssistantPart =>
    one.type === 'call'
      ? { type: 'tool_call', id: `c${at++}` }
      : { type: one.type as 'text' | 'reasoning', text: one.text ?? '' },
  )
  const base = { id: runId, runId, agent: 'default', round: 0, createdAt: 0 }
  return { ...base, role: 'assistant', parts: stored, toolCalls }
}

/** The deltas of this message, one delta per character. */
function deltasOf(message: AssistantMessage): RunEvent[] {
  return message.parts.flatMap((one, index): RunEvent[] => {
    if (one.type === 'error') return []
    if (one.type === 'tool_call') {
      const sequence = message.toolCalls.findIndex(({ id }) => id === one.id)
      const text = message.toolCalls[sequence]?.arguments ?? ''
      const call = { type: 'tool_call.delta', runId, round: 0, sequence, toolCallId: one.id, toolName: 'look' } as const
      return [...text].map((piece) => ({ ...call, arguments: piece }))
    }
    const type = one.type === 'text' ? 'text.delta' : 'reasoning.delta'
    return Array.from(one.text, (text) => ({ type, runId, round: 0, part: index, text }))
  })
}

const shown = (message: AssistantMessage, type: 'text' | 'reasoning'): string =>
  message.parts.flatMap((one) => (one.type === type ? [one.text] : [])).join('')

describe('the chunks of a completion', () => {
  test('add up to its content, wherever its deltas end, and also after a restart', () => {
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 6 }),
        fc.nat(60),
        fc.option(fc.nat(20), { nil: undefined }),
        (parts, seen, restart) => {
          const message = messageOf(parts)
          const deltas = deltasOf(message)
          const before = restart === undefined ? [] : deltas.slice(0, restart)
          const events: RunEvent[] = [
            { type: 'round.started', runId, round: 0 },
            ...before,
            ...(restart === undefined ? [] : [{ type: 'round.restarted', runId, round: 0, reason: 'x' } as const]),
            ...deltas.slice(0, seen),
            { type: 'message.completed', id: `${runId}:message.completed`, runId, message },
          ]
          const steps = createRunSteps()
          const reported = { text: '', reasoning: '', calls: new Map<number, string>() }
          for (const step of events.flatMap((event) => steps.take(event))) {
            if (step.type === 'discard') Object.assign(reported, { text: '', reasoning: '', calls: new Map() })
            if (step.type === 'text' || step.type === 'reasoning') reported[step.type] += step.text
            if (step.type === 'call')
              reported.calls.set(step.sequence, (reported.calls.get(step.sequence) ?? '') + step.arguments)
          }
          expect([reported.text, reported.reasoning]).toEqual([shown(message, 'text'), shown(message, 'reasoning')])
          expect([...reported.calls.entries()].toSorted(([a], [b]) => a - b).map(([, text]) => text)).toEqual(
            message.toolCalls.map((call) => call.arguments),
          )
        },
      ),
    )
  })

  const round = { runId, round: 0 }
  const started: RunEvent = { type: 'round.started', ...round }
  const again: RunEvent = { type: 'round.restarted', ...round, reason: 'resumed' }
  const completed = (message: AssistantMessage): RunEvent => ({
    type: 'message.completed',
    id: `${runId}:message.completed`,
    runId,
    message,
  })

  test('are emitted once, even if they are replayed to a slow client', () => {
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), fc.nat(30), fc.nat(60), (parts, behind, seen) => {
        const message = messageOf(parts)
        const deltas = deltasOf(message)
        const steps = createRunSteps()
        const events = [started, ...deltas.slice(0, behind), again, ...deltas.slice(0, seen), completed(message)]
        const reported = events.flatMap((event) => steps.take(event))
        expect(reported.filter(({ type }) => type === 'discard')).toEqual([])
        const texts = reported.map((step) => (step.type === 'text' ? step.text : ''))
        expect(texts.join('')).toBe(shown(message, 'text'))
      }),
    )
  })

  test('replace the earlier chunks if the round restarted while a client was slow', () => {
    const text = (said: string): RunEvent => ({ type: 'text.delta', ...round, part: 0, text: said })
    const steps = createRunSteps()
    const reported = [started, text('The cat'), again, text('The '), text('dog'), text(' barks')].flatMap((event) =>
      steps.take(event),
    )
    expect(reported.map((step) => (step.type === 'text' ? step.text : step.type))).toEqual([
      'round',
      'The cat',
      'discard',
      'The dog',
      ' barks',
    ])
    const other = createRunSteps()
    const last = messageOf([{ type: 'text', text: 'Mice' }])
    const ended = [started, text('The cat'), again, completed(last)].flatMap((event) => other.take(event))
    expect(ended.map(({ type }) => type)).toEqual(['round', 'text', 'discard', 'text', 'completion'])
  })

  test('replace those of an earlier attempt, even if the new text begins with the earlier text', () => {
    const text = (said: string): RunEvent => ({ type: 'text.delta', ...round, part: 0, text: said })
    const shownOf = (...events: readonly RunEvent[]): unknown[] => {
      const steps = createRunSteps()
      return events
        .flatMap((event) => steps.take(event))
        .map((step) => (step.type === 'text' ? step.text : 'attempt' in step ? [step.type, step.attempt] : step.type))
    }
    const attempt = { ...round, attempt: 64 }
    const message = { ...messageOf([{ type: 'text', text: 'The cat' }]), attempt: 64 }
    const replaced = [['round', 0], 'The', ['discard', 64], 'The cat', 'completion']
    expect(shownOf(started, text('The'), completed(message))).toEqual(replaced)
    const again: RunEvent = { type: 'round.restarted', ...attempt, reason: 'resumed' }
    expect(shownOf(started, text('The'), again, text('The cat'), completed(message))).toEqual(replaced)
    expect(shownOf({ type: 'round.started', ...attempt }, text('The'), completed(message))).toEqual([
      ['round', 64],
      'The',
      ' cat',
      'completion',
    ])
  })

  test('are not emitted again for a message that the client already has', () => {
    const message = messageOf([{ type: 'text', text: 'known' }])
    const steps = createRunSteps({ after: message.id })
    expect(steps.take({ type: 'message.completed', id: `${runId}:message.completed`, runId, message })).toEqual([])
  })
})
