/* Evidence, replay: Requests fit the model's context. Between two truncations, each request starts with the same bytes as the
 * previous one. */
import { describe, expect, it } from 'vitest'
import type { Cut, SessionContext } from '../../../functions/domain/context.ts'
import type { Message } from '../../../functions/domain/messages/message.ts'
import { cutAfterRefusal, cutToFit } from '../../../functions/log/request/context-cut.ts'
import { replay } from '../../../functions/log/replay.ts'
import { CUT_NOTE, openingOf, withinContext } from '../../../functions/log/request/request-context.ts'
import { scaleOf } from '../../../functions/log/request/request-size.ts'
import { weighMessages } from '../../../functions/log/request/token-weight.ts'
import { callTo, writeLog } from '../../generators/messages.ts'
import type { LogWriter } from '../../generators/messages.ts'

const NOTHING_OLDER = { messages: 0, conversational: 0 }
const WORDS = 'one two three four five six seven eight nine ten '

/** Writes `count` runs of about 130 tokens each. */
function runs(count: number, writer = writeLog()): LogWriter {
  for (let run = 0; run < count; run++)
    writer
      .run(`run-${run}`)
      .user(WORDS.repeat(3))
      .assistant(callTo('a', '{}'))
      .result(0, WORDS.repeat(5))
      .assistant(WORDS.repeat(3))
  return writer
}

const measured = (messages: readonly Message[], context: SessionContext = {}, isWhole = true) => ({
  messages,
  context,
  currentRun: messages.at(-1)?.runId ?? '',
  replay: 'full' as const,
  declarations: 0,
  isWhole,
})

const sent = (messages: readonly Message[], cut: Cut | undefined) =>
  replay(messages, {
    currentRun: messages.at(-1)?.runId ?? '',
    replay: 'full',
    context: cut === undefined ? {} : { cut },
  })

function fit(messages: readonly Message[], maxTokens: number, context: SessionContext = {}): Cut {
  const of = measured(messages, context)
  const cut = cutToFit(of, scaleOf(of), maxTokens, NOTHING_OLDER)
  if (cut === undefined) throw new Error('nothing was cut')
  return cut
}

describe('a truncation', () => {
  it('leaves between 35 and 75 % of the limit, wherever the log ends', () => {
    for (let count = 20; count < 60; count++) {
      const { log } = runs(count)
      const left = weighMessages(sent(log, fit(log, 1_500)))
      expect(left).toBeGreaterThan(1_500 * 0.35)
      expect(left).toBeLessThan(1_500 * 0.75)
    }
  })

  it('reads each message about as often in a long log as in a short one', () => {
    const readsOf = (count: number): number => {
      const { log } = runs(count)
      let reads = 0
      const counted = log.map(
        (message) =>
          new Proxy(message, {
            get(target, name, receiver): unknown {
              reads++
              return Reflect.get(target, name, receiver)
            },
          }),
      )
      fit(counted, 1_500)
      return reads / counted.length
    }
    expect(readsOf(400)).toBeLessThan(readsOf(40) * 1.5)
  })

  it('removes whole rounds, and puts a note in front of the remaining messages', () => {
    const { log } = runs(30)
    const request = sent(log, fit(log, 1_500))
    expect(request[0]).toEqual({ role: 'user', parts: [{ type: 'text', text: CUT_NOTE }] })
    expect(request[1]?.role).not.toBe('tool')
  })

  it('puts its note after the summary', () => {
    const usage = {} as never
    const summary = { text: 'so far', through: '0', messages: 1, createdAt: 0, model: '', usage }
    const cut = { from: '1', kept: [], messages: 1, conversational: 1 }
    const texts = openingOf({ summary, cut }).flatMap(({ parts }) => parts.map((part) => 'text' in part && part.text))
    expect(texts).toEqual(['<conversation_summary>\nso far\n</conversation_summary>', CUT_NOTE])
  })

  it('counts the removed messages, also over several truncations', () => {
    const { log } = runs(30)
    const first = fit(log, 1_500)
    expect(first.messages).toBe(log.findIndex(({ id }) => id === first.from))
    const second = fit(log, 700, { cut: first })
    expect(second.messages).toBe(log.findIndex(({ id }) => id === second.from))
    expect(second.conversational).toBe(
      log.filter(
        ({ id, role }, index) => id < second.from && (role === 'user' || (role === 'assistant' && index % 4 === 3)),
      ).length,
    )
  })

  it('never restores removed messages, even after the end of the run whose inputs were kept', () => {
    const writer = writeLog().run('long').user('begin')
    for (let round = 0; round < 8; round++)
      writer.assistant(callTo('a', '{}')).result(0, WORDS.repeat(9)).user(`steer ${round}`)
    const first = fit(writer.log, 700)
    expect(first.kept.length).toBeGreaterThan(1)
    writer.assistant('done').run('next').user(WORDS.repeat(12))
    for (let maxTokens = 100; maxTokens <= 1_000; maxTokens += 25) {
      const of = measured(writer.log, { cut: first })
      const second = cutToFit(of, scaleOf(of), maxTokens, NOTHING_OLDER)
      expect(second === undefined || second.from >= first.from, `${maxTokens}`).toBe(true)
    }
    expect(weighMessages(sent(writer.log, fit(writer.log, 500, { cut: first })))).toBeLessThan(500)
  })

  it('keeps the inputs of a turn that is continued by a run without an input', () => {
    const writer = writeLog().run('failed').user('begin')
    for (let round = 0; round < 8; round++) writer.assistant(callTo('a', '{}')).result(0, WORDS.repeat(9))
    const of = { ...measured(writer.log), currentRun: 'goes on' }
    const cut = cutToFit(of, scaleOf(of), 300, NOTHING_OLDER)
    expect(cut?.kept).toEqual([writer.log[0]?.id])
    writer.run('goes on').assistant(callTo('a', '{}')).result(0, WORDS.repeat(9)).user('steer')
    writer.assistant(callTo('a', '{}')).result(0, WORDS.repeat(9)).assistant(callTo('a', '{}')).result(0, 'short')
    const next = { ...measured(writer.log, cut === undefined ? {} : { cut }), currentRun: 'goes on' }
    expect(cutToFit(next, scaleOf(next), 100, NOTHING_OLDER)?.kept[0]).toBe(writer.log[0]?.id)
  })

  it('removes rounds of the current run, but no inputs, if nothing else remains', () => {
    const writer = runs(3).run('now').user('the task')
    for (let round = 0; round < 40; round++) writer.assistant(callTo('a', '{}')).result(0, WORDS.repeat(5))
    writer.user('and be quick')
    writer.assistant(callTo('a', '{}')).result(0, WORDS)
    const cut = fit(writer.log, 1_500)
    const left = withinContext(writer.log, { cut })
    expect(left.filter(({ role }) => role === 'user').map(({ parts }) => parts)).toEqual([
      [{ type: 'text', text: 'the task' }],
      [{ type: 'text', text: 'and be quick' }],
    ])
    expect(left.length).toBeGreaterThan(10)
    expect(cut.kept).toHaveLength(1)
  })

  it('keeps the input of a continued turn, also in later runs, until the next truncation', () => {
    const writer = writeLog().run('now').user('the task')
    for (let round = 0; round < 40; round++) writer.assistant(callTo('a', '{}')).result(0, WORDS.repeat(5))
    const first = fit(writer.log, 1_500)
    writer.assistant('done').run('later').user('thanks')
    const before = sent(writer.log.slice(0, -2), first)
    expect(sent(writer.log, first).slice(0, before.length)).toEqual(before)
    const second = fit(writer.log, 500, { cut: first })
    expect(second.kept).toEqual([])
  })

  it('starts with the first loaded message if the log is not loaded completely', () => {
    const { log } = runs(30)
    const of = measured(log.slice(40), {}, false)
    const cut = cutToFit(of, scaleOf(of), 100_000, { messages: 40, conversational: 20 })
    expect(cut).toEqual({ from: log[40]?.id, kept: [], messages: 40, conversational: 20 })
  })

  it('does not happen if only the input remains', () => {
    const { log } = writeLog().run('now').user(WORDS.repeat(1_000))
    const of = measured(log)
    expect(cutToFit(of, scaleOf(of), 100, NOTHING_OLDER)).toBeUndefined()
  })

  it('leaves at most two thirds of a request that the provider refused', () => {
    const { log } = runs(30)
    const of = measured(log)
    const whole = weighMessages(sent(log, undefined))
    const left = weighMessages(sent(log, cutAfterRefusal(of, scaleOf(of), whole, NOTHING_OLDER)))
    expect(left).toBeLessThanOrEqual((whole * 2) / 3 + 1)
    expect(left).toBeGreaterThan(whole / 2)
  })
})
