import { expect, test } from 'vitest'
import { createEventBus } from '../../../functions/agent/events/event-bus.ts'
import type { RunEvent } from '../../../functions/domain/events.ts'

const key = { tenant: 't', session: 's' }
const delta = (text: string, part = 0): RunEvent => ({ type: 'text.delta', runId: 'r', round: 0, part, text })
const began: RunEvent = { type: 'round.started', runId: 'r', round: 0 }
const again: RunEvent = { type: 'round.restarted', runId: 'r', round: 0, reason: 'retry' }

/** Starts more rounds than a process stores for its followers. */
function startOthers(bus: ReturnType<typeof createEventBus>): void {
  for (let count = 0; count < 300; count++) bus.emit({ ...key, session: `other-${count}` }, { ...began, runId: 'o' })
}

test('a consumer that missed deltas of an unbuffered round gets no later delta of that round', async () => {
  const bus = createEventBus()
  const slow = bus.subscribe(key)
  bus.emit(key, began)
  bus.emit(key, delta('first '))
  expect((await slow.next(1)).events).toEqual([began, delta('first ')])
  startOthers(bus)
  for (let part = 0; part < 300; part++) bus.emit(key, delta('missed ', part))
  expect(await slow.next(1)).toEqual({ events: [], gap: false })
  bus.emit(key, delta('last', 300))
  expect((await slow.next(1)).events).toEqual([])
  bus.emit(key, again)
  bus.emit(key, delta('anew'))
  expect((await slow.next(1)).events).toEqual([again, delta('anew')])
})

test('a consumer that missed deltas of a buffered round gets the later deltas too', async () => {
  const bus = createEventBus()
  const slow = bus.subscribe(key)
  bus.emit(key, began)
  for (let part = 0; part < 300; part++) bus.emit(key, delta('x', part))
  expect((await slow.next(1)).events).toHaveLength(301)
  bus.emit(key, delta('last', 300))
  expect((await slow.next(1)).events).toEqual([delta('last', 300)])
})
