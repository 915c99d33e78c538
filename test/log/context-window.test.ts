import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Message } from '../../functions/domain/message.ts'
import { createContextWindow, CUT_NOTE } from '../../functions/log/context-window.ts'
import { settledLog } from '../generators/logs.ts'
import { callTo, writeLog } from '../generators/messages.ts'

/** Reads a log backwards, a page at a time, as the loop does; answers what fits and how much was read. */
function load(log: readonly Message[], budget: number, page: number): { messages: Message[]; read: number } {
  const window = createContextWindow(budget)
  let read = 0
  for (let end = log.length; end > 0; end -= page) {
    const newestFirst = log.slice(Math.max(0, end - page), end).toReversed()
    read += newestFirst.length
    if (window.add(newestFirst)) break
  }
  return { messages: window.messages(), read }
}

function longLog(runs: number): Message[] {
  const writer = writeLog()
  for (let run = 0; run < runs; run++) {
    writer
      .run(`run-${run}`)
      .user('x'.repeat(160))
      .assistant(callTo('a', '{}'))
      .result(0, 'y'.repeat(500))
      .assistant('z'.repeat(200))
  }
  return writer.log
}

describe('what is loaded of a log (R7)', () => {
  it('is the whole log where it fits, and nothing else', () => {
    fc.assert(
      fc.property(settledLog, fc.integer({ min: 1, max: 9 }), (log, page) => {
        expect(load(log, 1_000_000, page).messages).toEqual(log)
      }),
    )
  })

  it('is bounded by the budget, not by the length of the session', () => {
    const short = load(longLog(50), 20_000, 20)
    const long = load(longLog(2_000), 20_000, 20)
    expect(long.read).toBe(short.read)
    expect(long.messages.length).toBeLessThan(100)
  })

  it('never begins inside a round, says that something is missing, and keeps the newest messages', () => {
    fc.assert(
      fc.property(settledLog, fc.integer({ min: 1, max: 2_000 }), (log, budget) => {
        const { messages } = load(log, budget, 3)
        const [note, first] = messages
        if (note?.id === log[0]?.id) return
        expect(note?.parts).toEqual([{ type: 'text', text: CUT_NOTE }])
        expect(first?.role).not.toBe('tool')
        expect(first?.parentToolCallId).toBeUndefined()
        expect(messages.slice(1)).toEqual(log.slice(log.length - messages.length + 1))
      }),
      { numRuns: 300 },
    )
  })

  it('does not depend on the size of the pages that it was read in', () => {
    const log = longLog(100)
    const whole = load(log, 20_000, 1_000).messages
    for (const page of [1, 3, 7, 50]) expect(load(log, 20_000, page).messages).toEqual(whole)
  })

  it('begins at the same message for many runs on end, so that the prefix stays', () => {
    const log = longLog(400)
    const starts = Array.from(
      { length: 300 },
      (_, index) => load(log.slice(0, (index + 100) * 4), 100_000, 200).messages[1]?.id,
    )
    const moves = starts.filter((start, index) => index > 0 && start !== starts[index - 1]).length
    expect(moves).toBeGreaterThan(0)
    expect(moves).toBeLessThan(40)
  })
})
