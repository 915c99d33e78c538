import { fc } from '../generators/seeded.ts'
import { describe, expect, it } from 'vitest'
import type { Message } from '../../functions/domain/message.ts'
import { createContextWindow, CUT_NOTE } from '../../functions/log/context-window.ts'
import { settledLog } from '../generators/logs.ts'
import { callTo, firstId, writeLog } from '../generators/messages.ts'
import type { LogWriter } from '../generators/messages.ts'

/** Reads a log backwards, a page at a time, as the loop does; answers what fits and how much was read. */
function load(
  log: readonly Message[],
  budget: number,
  page: number,
  run = log.at(-1)?.runId ?? '',
): { messages: Message[]; read: number } {
  const window = createContextWindow(run, budget)
  let read = 0
  for (let end = log.length; end > 0; end -= page) {
    const newestFirst = log.slice(Math.max(0, end - page), end).toReversed()
    read += newestFirst.length
    if (window.add(newestFirst)) break
  }
  return { messages: window.messages(), read }
}

function longLog(runs: number, first?: string): LogWriter {
  const writer = writeLog(first)
  for (let run = 0; run < runs; run++) {
    writer
      .run(`run-${run}`)
      .user('x'.repeat(160))
      .assistant(callTo('a', '{}'))
      .result(0, 'y'.repeat(500))
      .assistant('z'.repeat(200))
  }
  return writer
}

describe('what is loaded of a log (promises R7)', () => {
  it('is the whole log where it fits, and nothing else', () => {
    fc.assert(
      fc.property(settledLog, fc.integer({ min: 1, max: 9 }), (log, page) => {
        expect(load(log, 1_000_000, page).messages).toEqual(log)
      }),
    )
  })

  it('is bounded by the budget, not by the length of the session', () => {
    const short = load(longLog(50).log, 20_000, 20)
    const long = load(longLog(2_000).log, 20_000, 20)
    expect(long.read).toBe(short.read)
    expect(long.messages.length).toBeLessThan(100)
  })

  it('says nothing of earlier messages where there are none, however large the input is', () => {
    const { log } = writeLog().run('run-0').user('x'.repeat(5_000))
    expect(load(log, 1_000, 20).messages).toEqual(log)
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

  it('leaves most of the budget in use, wherever the log ends', () => {
    // Each run of the log costs 1,063 characters, of which at least 0.7 of 20,000 stay.
    for (let runs = 50; runs < 80; runs++)
      expect(load(longLog(runs).log, 20_000, 20).messages.length).toBeGreaterThanOrEqual(1 + 13 * 4)
  })

  it('does not depend on the size of the pages that it was read in', () => {
    const { log } = longLog(100)
    const whole = load(log, 20_000, 1_000).messages
    for (const page of [1, 3, 7, 50]) expect(load(log, 20_000, page).messages).toEqual(whole)
  })

  it('begins at the same message for many runs on end, so that the prefix stays', () => {
    // Some 28 runs may come first. By chance, the one of the least hash changes in two of 29 steps: 21 times in 300.
    for (let place = 0; place < 20; place++) {
      const { log } = longLog(400, firstId(place * 7_919))
      const starts = Array.from(
        { length: 300 },
        (_, index) => load(log.slice(0, (index + 100) * 4), 100_000, 200).messages[1]?.id,
      )
      const moves = starts.filter((start, index) => index > 0 && start !== starts[index - 1]).length
      expect(moves, `the log that begins with ${log[0]?.id}`).toBeGreaterThan(10)
      expect(moves, `the log that begins with ${log[0]?.id}`).toBeLessThan(35)
    }
  })

  it('holds the current run whole with its input, however little fits (promises R3)', () => {
    const writer = writeLog()
    writer.run('before').user('early').assistant('answer').run('now').user('the task')
    for (let round = 0; round < 50; round++) writer.assistant(callTo('a', '{}')).result(0, 'y'.repeat(1_000))
    for (const budget of [1, 500, 5_000])
      for (const page of [1, 7, 200])
        expect(load(writer.log, budget, page).messages.filter(({ runId }) => runId === 'now')).toEqual(
          writer.log.filter(({ runId }) => runId === 'now'),
        )
  })

  it('is after a takeover what it was when the run began, and the messages since (promises R5)', () => {
    for (const rounds of [1, 20, 200]) {
      const writer = longLog(60)
      writer.run('now').user('the task')
      const atStart = load(writer.log, 20_000, 10).messages
      for (let round = 0; round < rounds; round++) writer.assistant(callTo('a', '{}')).result(0, 'y'.repeat(500))
      const later = load(writer.log, 20_000, 10).messages
      expect(later.slice(0, atStart.length)).toEqual(atStart)
      expect(later).toHaveLength(atStart.length + 2 * rounds)
    }
  })

  it('looks for the input that a run without one continues only as far as the budget goes', () => {
    const writer = longLog(20)
    writer.run('failed').user('the task')
    for (let round = 0; round < 200; round++) writer.assistant(callTo('a', '{}')).result(0, 'y'.repeat(1_000))
    expect(load(writer.log, 8_000, 2, 'continuing').read).toBeLessThan(60)
  })

  it('holds the input of the run that a run without one continues', () => {
    const writer = longLog(20)
    writer.run('failed').user('the task')
    for (let round = 0; round < 5; round++) writer.assistant(callTo('a', '{}')).result(0, 'y'.repeat(1_000))
    const { messages } = load(writer.log, 8_000, 2, 'continuing')
    expect(messages.find((message) => message.runId === 'failed')?.parts).toEqual([{ type: 'text', text: 'the task' }])
  })
})
