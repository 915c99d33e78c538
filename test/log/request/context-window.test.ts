/* Evidence, replay: Nothing is omitted from a request without a decision. */
import { describe, expect, it } from 'vitest'
import type { SessionContext } from '../../../functions/domain/context.ts'
import type { Message } from '../../../functions/domain/messages/message.ts'
import { createContextWindow } from '../../../functions/log/request/context-window.ts'
import { fc } from '../../generators/seeded.ts'
import { settledLog } from '../../generators/logs.ts'
import { callTo, writeLog } from '../../generators/messages.ts'
import { isLeaders } from '../../../functions/domain/messages/message.ts'
import type { LogWriter } from '../../generators/messages.ts'

interface Loaded {
  readonly messages: readonly Message[]
  readonly isWhole: boolean
  readonly read: number
}

/**
 * Reads a log backwards page by page, like the loop, until it has read `maxTokens` tokens. Also returns the number of messages
 * read.
 */
function load(
  log: readonly Message[],
  maxTokens: number,
  page: number,
  decided: SessionContext = {},
  run = log.at(-1)?.runId ?? '',
): Loaded {
  const window = createContextWindow(run, maxTokens, decided)
  let read = 0
  let end = log.length
  for (; end > 0; end -= page) {
    const newestFirst = log.slice(Math.max(0, end - page), end).toReversed()
    read += newestFirst.length
    if (window.add(newestFirst)) break
  }
  return { ...window.loaded(end - page <= 0), read }
}

function longLog(runs: number): LogWriter {
  const writer = writeLog()
  for (let run = 0; run < runs; run++)
    writer
      .run(`run-${run}`)
      .user('what is it? '.repeat(16))
      .assistant(callTo('a', '{}'))
      .result(0, 'some text '.repeat(50))
      .assistant('an answer '.repeat(20))
  return writer
}

describe('the loaded part of a log (promises R7)', () => {
  it("is the complete log if it fits, without members' messages of earlier runs", () => {
    fc.assert(
      fc.property(settledLog, fc.integer({ min: 1, max: 9 }), (log, page) => {
        const current = log.at(-1)?.runId
        const messages = log.filter((message) => isLeaders(message) || message.runId === current)
        expect(load(log, 1_000_000, page)).toMatchObject({ messages, isWhole: true })
      }),
    )
  })

  it('is incomplete if it begins later than the decided context, even if both begin in one page', () => {
    const { log } = longLog(100)
    const cut = { from: log[20]?.id ?? '', kept: [], messages: 20, conversational: 10 }
    const { messages, isWhole } = load(log, 1_000, log.length, { cut })
    expect(messages[0]?.id).not.toBe(cut.from)
    expect(isWhole).toBe(false)
    expect(load(log, 1_000_000, log.length, { cut }).isWhole).toBe(true)
  })

  it('is bounded by the context, not by the length of the session', () => {
    const short = load(longLog(100).log, 5_000, 20)
    const long = load(longLog(2_000).log, 5_000, 20)
    expect(long.read).toBe(short.read)
    expect(long.messages.length).toBeLessThan(150)
    expect(long.isWhole).toBe(false)
  })

  it('begins where the decided context begins', () => {
    const { log } = longLog(50)
    const cut = { from: log[100]?.id ?? '', kept: [], messages: 100, conversational: 50 }
    for (const page of [1, 7, 50, 500]) {
      expect(load(log, 1_000_000, page, { cut })).toMatchObject({ messages: log.slice(100), isWhole: true })
      const through = log[99]?.id ?? ''
      const summary = { through } as SessionContext['summary'] & object
      expect(load(log, 1_000_000, page, { summary })).toMatchObject({ messages: log.slice(100), isWhole: true })
    }
  })

  it('does not depend on the page size', () => {
    const { log } = longLog(100)
    const { messages } = load(log, 5_000, 1_000)
    for (const page of [1, 3, 7, 50]) expect(load(log, 5_000, page).messages).toEqual(messages)
  })

  it('includes the current run and its input completely, even beyond the limit (promises R3)', () => {
    const writer = writeLog()
    writer.run('before').user('early').assistant('answer').run('now').user('the task')
    for (let round = 0; round < 50; round++) writer.assistant(callTo('a', '{}')).result(0, 'some text '.repeat(100))
    for (const maxTokens of [1, 500, 5_000])
      for (const page of [1, 7, 200])
        expect(load(writer.log, maxTokens, page).messages.filter(({ runId }) => runId === 'now')).toEqual(
          writer.log.filter(({ runId }) => runId === 'now'),
        )
  })

  it('includes the turn that is continued by a run without an input', () => {
    const writer = writeLog()
    for (let run = 0; run < 30; run++) writer.run(`run-${run}`).user('what is it?').assistant('an answer '.repeat(99))
    writer.run('failed').user('the task').assistant(callTo('a', '{}')).result(0, 'done').run('again')
    const { messages } = load(writer.log, 100, 10, {}, 'again')
    expect(messages.slice(-3)).toEqual(writer.log.slice(-3))
    writer.run('long').user('the task').assistant(callTo('a', '{}')).result(0, 'some text '.repeat(60))
    // Messages of the continued turn do not count against the budget of earlier messages.
    expect(load(writer.log, 200, 10, {}, 'again')).toEqual(load(writer.log, 200, 10, {}, 'long'))
  })
})
