/* Evidence, api: A follower that joins late or returns gets the current round from its start, and gets nothing twice. */
import { describe, expect, test } from 'vitest'
import type { RunEvent } from '../../../functions/domain/events.ts'
import { createStreamingRounds } from '../../../functions/agent/events/streaming-rounds.ts'

const started = (round: number): RunEvent => ({ type: 'round.started', runId: 'r', round })
const said = (text: string, part = 0, round = 0): RunEvent => ({ type: 'text.delta', runId: 'r', round, part, text })
const called = (text: string, sequence = 0): RunEvent => ({
  type: 'tool_call.delta',
  runId: 'r',
  round: 0,
  sequence,
  toolCallId: `c${sequence}`,
  toolName: 'shell',
  arguments: text,
})

function after(...events: readonly RunEvent[]): readonly RunEvent[] {
  const rounds = createStreamingRounds()
  for (const event of events) rounds.note('s', event)
  return rounds.of('s')
}

describe('the streamed content of a round', () => {
  test('is buffered from its start, with consecutive deltas of one part merged', () => {
    const events = [started(0), said('a'), said('b'), called('{"x"'), called(':1}'), called('{}', 1), said('c', 3)]
    expect(after(...events)).toEqual([started(0), said('ab'), called('{"x":1}'), called('{}', 1), said('c', 3)])
  })

  test('is dropped when the round restarts', () => {
    const again: RunEvent = { type: 'round.restarted', runId: 'r', round: 0, reason: 'retry' }
    expect(after(started(0), said('a'), again, said('b'))).toEqual([started(0), said('b')])
    expect(after(started(0), said('a'), started(0), said('b'))).toEqual([started(0), said('b')])
  })

  test('begins with the number of its last attempt', () => {
    const again: RunEvent = { type: 'round.restarted', runId: 'r', round: 0, attempt: 1, reason: 'retry' }
    expect(after(started(0), said('a'), again, said('b'))).toEqual([{ ...started(0), attempt: 1 }, said('b')])
  })

  test('is dropped once it is stored, and is never buffered without its start', () => {
    const stored = { type: 'message.completed', runId: 'r', id: 'm:message.completed' } as RunEvent
    expect(after(started(0), said('a'), stored)).toEqual([])
    expect(after(started(0), said('a'), stored, said('b'))).toEqual([])
    expect(after(said('b'))).toEqual([])
  })

  test('is buffered only for the most recently started sessions', () => {
    const rounds = createStreamingRounds()
    for (let count = 0; count < 300; count++) rounds.note(`s${count}`, started(0))
    expect(rounds.of('s0')).toEqual([])
    expect(rounds.of('s299')).toEqual([started(0)])
  })
})
