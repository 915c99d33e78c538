import { expect, test } from 'vitest'
import { createEventSequence } from '../../../../functions/agent/loop/writer/event-sequence.ts'
import type { Emission } from '../../../../functions/agent/loop/writer/event-sequence.ts'
import type { RunEvent } from '../../../../functions/domain/events.ts'

const event = (runId: string): RunEvent => ({ type: 'round.started', runId, round: 0 })
const stored = (runId: string): Emission<string> => ({ result: runId, events: [event(runId)] })

test('events are emitted in the order of their positions, whichever write finishes first', async () => {
  const emitted: RunEvent[] = []
  const emitInOrder = createEventSequence(7, (one) => void emitted.push(one))
  const slow = Promise.withResolvers<Emission<string>>()
  const positions: unknown[] = []
  const first = emitInOrder((position) => {
    positions.push(position)
    return slow.promise
  }, 2)
  const second = emitInOrder(async (position) => {
    positions.push(position)
    return stored('second')
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(emitted).toEqual([])
  slow.resolve(stored('first'))
  expect(await Promise.all([first, second])).toEqual(['first', 'second'])
  expect(emitted).toEqual([event('first'), event('second')])
  expect(positions).toEqual([
    { generation: 7, number: 0 },
    { generation: 7, number: 2 },
  ])
})

test('a failed write does not block other events', async () => {
  const emitted: RunEvent[] = []
  const emitInOrder = createEventSequence(1, (one) => void emitted.push(one))
  const failing = emitInOrder(() => Promise.reject(new Error('no')))
  const next = emitInOrder(async () => stored('next'))
  await expect(failing).rejects.toThrow('no')
  await next
  expect(emitted).toEqual([event('next')])
})

test('the position of a write that stored nothing is reused', async () => {
  const emitInOrder = createEventSequence(1, () => undefined)
  const numbers: number[] = []
  const note = async ({ number }: { readonly number: number }) => {
    numbers.push(number)
    return { result: undefined, events: undefined }
  }
  await emitInOrder(note)
  await emitInOrder(note)
  expect(numbers).toEqual([0, 0])
})
