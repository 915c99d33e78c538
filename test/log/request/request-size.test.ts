/* Evidence, replay: Requests fit the model's context. Between two truncations, each request starts with the same bytes as the
 * previous one. */
import { describe, expect, it } from 'vitest'
import type { SessionContext } from '../../../functions/domain/context.ts'
import type { Message } from '../../../functions/domain/messages/message.ts'
import { NO_USAGE } from '../../../functions/domain/usage/usage.ts'
import { replay } from '../../../functions/log/replay.ts'
import { scaleOf, tokensOf } from '../../../functions/log/request/request-size.ts'
import { weighMessages, weighText } from '../../../functions/log/request/token-weight.ts'
import { writeLog } from '../../generators/messages.ts'

const DECLARATIONS = 300

/** Writes a log of `turns` turns. `count` computes a completion's reported input tokens from the weight of its request. */
function countedLog(turns: number, text: (turn: number) => string, count: (weight: number) => number): Message[] {
  const { log, run, user, assistant } = writeLog()
  for (let turn = 0; turn < turns; turn++) {
    run(`run-${turn}`)
    user(text(turn))
    const inputTokens = count(weightOf(log, `run-${turn}`))
    assistant('an answer')
    const completion = log.at(-1)
    if (completion?.role === 'assistant') log[log.length - 1] = { ...completion, usage: { ...NO_USAGE, inputTokens } }
  }
  run('now')
  user(text(turns))
  return log
}

const weightOf = (messages: readonly Message[], currentRun: string): number =>
  DECLARATIONS + weighMessages(replay(messages, { currentRun, replay: 'full' }))

function estimate(messages: readonly Message[], context: SessionContext = {}, isWhole = true): number {
  const of = { messages, context, currentRun: 'now', replay: 'full' as const, declarations: DECLARATIONS, isWhole }
  return tokensOf(scaleOf(of), weightOf(messages, 'now'))
}

const WORDS = 'the quick brown fox jumps over the lazy dog '
const HAN = '请帮我检查一下昨天部署失败的原因'

describe('the estimated tokens of a request', () => {
  it('equal its weight until a provider reports a count', () => {
    const { log } = writeLog().run('now').user(WORDS)
    expect(estimate(log)).toBe(Math.round(weightOf(log, 'now')))
  })

  it.each([
    ['counts half of what texts weigh', 0.5],
    ['counts as they weigh', 1],
    ['counts twice as much', 2],
  ])('follow a provider that %s', (_name, rate) => {
    const log = countedLog(
      20,
      () => WORDS.repeat(20),
      (weight) => Math.round(weight * rate),
    )
    expect(estimate(log) / (weightOf(log, 'now') * rate)).toBeCloseTo(1, 1)
  })

  it('are accurate within 25 % from the first completion, also if a provider does not count the tools', () => {
    for (let turns = 1; turns < 10; turns++) {
      const count = (weight: number): number => Math.round(weight - DECLARATIONS)
      const log = countedLog(turns, () => WORDS.repeat(100), count)
      expect(Math.abs(estimate(log) / count(weightOf(log, 'now')) - 1)).toBeLessThan(0.25)
    }
  })

  it('adapt when texts in another writing system need more tokens', () => {
    // A tokenizer that needs twice the tokens for Han characters.
    const isHan = (turn: number): boolean => turn >= 10
    const log = countedLog(
      20,
      (turn) => (isHan(turn) ? HAN.repeat(40) : WORDS.repeat(10)),
      (weight) => weight,
    )
    const han = weighText(HAN.repeat(40))
    let extra = 0
    const counted = log.map((message) => {
      if (message.role === 'user' && message.parts.some((part) => 'text' in part && part.text.startsWith(HAN)))
        extra += han
      if (message.role !== 'assistant') return message
      return { ...message, usage: { ...NO_USAGE, inputTokens: Math.round((message.usage?.inputTokens ?? 0) + extra) } }
    })
    const real = weightOf(counted, 'now') + extra
    expect(Math.abs(estimate(counted) / real - 1)).toBeLessThan(0.25)
  })

  it('equal its weight if a provider reports the same count for every request', () => {
    const log = countedLog(
      20,
      () => WORDS.repeat(40),
      () => 120,
    )
    expect(estimate(log)).toBe(Math.round(weightOf(log, 'now')))
  })

  it('follow the scale of the stored decision until a provider has counted a later request', () => {
    const log = countedLog(
      5,
      () => WORDS,
      (weight) => weight * 3,
    )
    const scale = { weight: 1_000, tokens: 500, rate: 2 }
    const decided = { at: log.at(-1)?.id ?? '', scale }
    expect(estimate(log, { decided })).toBe(tokensOf(scale, weightOf(log, 'now')))
  })
})
