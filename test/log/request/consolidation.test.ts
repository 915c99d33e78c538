/* Evidence, replay: A conversation is consolidated at its threshold only, never inside a round; a failed summary
 * changes nothing. */
import { describe, expect, it } from 'vitest'
import type { Consolidation } from '../../../functions/domain/agent.ts'
import type { Message } from '../../../functions/domain/messages/message.ts'
import {
  createCollector,
  isDue,
  isNearlyFull,
  keptCount,
  summaryRequestText,
} from '../../../functions/log/request/consolidation.ts'
import type { Consolidated } from '../../../functions/log/request/consolidation.ts'
import { replay } from '../../../functions/log/replay.ts'
import { isConversational } from '../../../functions/log/request/request-context.ts'
import { fc } from '../../generators/seeded.ts'
import { settledLog } from '../../generators/logs.ts'
import { callTo, writeLog } from '../../generators/messages.ts'

const POLICY: Consolidation = { threshold: 100, keepRecentRatio: 0.2 }

function collect(log: readonly Message[], policy: Consolidation, room = 100_000): Consolidated | undefined {
  const collector = createCollector(policy, room)
  for (const message of log.toReversed()) collector.add(message)
  return collector.collected()
}

const conversational = (log: readonly Message[]): number => log.filter(isConversational).length

function exchanges(count: number, rounds = 0) {
  const writer = writeLog()
  for (let turn = 0; turn < count; turn++) {
    writer.run(`run-${turn}`).user(`question ${turn}`)
    for (let round = 0; round < rounds; round++) writer.assistant(callTo('look', '{}')).result(0, 'SECRET RESULT')
    writer.assistant(`answer ${turn}`)
  }
  return writer
}

describe('the threshold of consolidation', () => {
  it('counts inputs and completions, but no tool messages', () => {
    const { log } = exchanges(5, 100)
    expect(log.filter(({ role }) => role === 'tool')).toHaveLength(500)
    expect(conversational(log)).toBe(10)
    expect(isDue(POLICY, conversational(log))).toBe(false)
  })

  it("counts steered inputs, but no failures, empty completions or members' messages", () => {
    const writer = writeLog().run('r').user('one').assistant(callTo('a', '{}')).result(0, 'x').user('steered')
    writer.assistant({ type: 'text', text: 'cut o' }, { type: 'error', code: 'network', text: 'failed' })
    writer.assistant('').assistant('I look', callTo('b', '{}')).result(0, 'y').assistant('two')
    const last = writer.log.at(-1)
    if (last !== undefined) writer.log.push({ ...last, id: `${last.id}0`, agent: 'member', parentToolCallId: 'call_a' })
    expect(conversational(writer.log)).toBe(3)
  })

  it('is exceeded by the first message beyond it', () => {
    expect(isDue(POLICY, 100)).toBe(false)
    expect(isDue(POLICY, 101)).toBe(true)
  })

  it('is announced when two messages are left before it is reached', () => {
    expect(isNearlyFull(POLICY, 97)).toBe(false)
    expect([98, 99, 100, 101].every((count) => isNearlyFull(POLICY, count))).toBe(true)
  })

  it('with a ratio of 0, one message stays; with a ratio of 1, no consolidation becomes due', () => {
    expect(keptCount({ threshold: 100, keepRecentRatio: 0 })).toBe(1)
    expect(isDue({ threshold: 100, keepRecentRatio: 1 }, 1_000)).toBe(false)
    // In floating point, 0.29 × 100 is slightly less than 29.
    expect(keptCount({ threshold: 100, keepRecentRatio: 0.29 })).toBe(29)
  })
})

describe('a consolidation', () => {
  it('includes all messages except the newest, and the rounds before the first message that stays', () => {
    const { log } = exchanges(51, 2)
    const found = collect(log, POLICY)
    const kept = log.filter(({ id }) => id > (found?.through ?? ''))
    expect(found?.messages).toBe(102 - 20)
    expect(conversational(kept)).toBe(20)
    expect(kept[0]?.role).toBe('user')
  })

  it('ends at the same message, whatever tool messages surround it', () => {
    for (const rounds of [0, 1, 7]) {
      const { log } = exchanges(60, rounds)
      const found = collect(log, POLICY)
      expect(log[log.findIndex(({ id }) => id === found?.through) + 1]?.parts).toEqual([
        { type: 'text', text: 'question 50' },
      ])
    }
  })

  it('never ends inside a round, and leads to a valid request', () => {
    fc.assert(
      fc.property(
        settledLog,
        fc.integer({ min: 1, max: 6 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (log, threshold, keepRecentRatio) => {
          const found = collect(log, { threshold, keepRecentRatio })
          if (found === undefined) return
          const next = log.find(({ id, parentToolCallId }) => id > found.through && parentToolCallId === undefined)
          expect(next === undefined || next.role !== 'tool').toBe(true)
          const summary = {
            through: found.through,
            text: 'so far',
            messages: 1,
            createdAt: 0,
            model: '',
            usage: {} as never,
          }
          const request = replay(log, { currentRun: '', replay: 'full', context: { summary } })
          expect(request[0]).toEqual({
            role: 'user',
            parts: [{ type: 'text', text: '<conversation_summary>\nso far\n</conversation_summary>' }],
          })
          expect(request[1]?.role).not.toBe('tool')
        },
      ),
      { numRuns: 300 },
    )
  })

  it('includes texts, calls and pointers, but no results', () => {
    const { log } = exchanges(3, 1)
    const [part = ''] = collect(log, { threshold: 2, keepRecentRatio: 0 })?.parts ?? []
    const pointer = log.find(({ role }) => role === 'tool')?.id
    expect(part.split('\n').slice(0, 3)).toEqual([
      'USER: question 0',
      `TOOL CALL: look() (completed) → output:${pointer}`,
      'ASSISTANT: answer 0',
    ])
    expect(part).not.toContain('SECRET RESULT')
    expect(part).not.toContain('answer 2')
  })

  it('omits the messages of members', () => {
    const { log } = exchanges(3, 1)
    const theirs = log
      .filter(({ runId }) => runId === 'run-0')
      .map((one) => ({ ...one, id: `${one.id}0`, agent: 'member', parentToolCallId: 'call_a' }))
    const both = [...log, ...theirs].toSorted((one, other) => (one.id < other.id ? -1 : 1))
    expect(collect(both, { threshold: 2, keepRecentRatio: 0 })).toEqual(
      collect(log, { threshold: 2, keepRecentRatio: 0 }),
    )
  })

  it('does not happen if only rounds precede the messages that stay', () => {
    const { log } = writeLog().run('r').assistant(callTo('a', '{}')).result(0, 'x').assistant('done')
    expect(collect(log, { threshold: 1, keepRecentRatio: 0 })).toBeUndefined()
  })

  it('has parts that each fit a request, oldest first, and a note about omitted messages', () => {
    const { log } = exchanges(400)
    const found = collect(log, { threshold: 2, keepRecentRatio: 0 }, 500)
    expect(found?.parts).toHaveLength(4)
    expect(found?.parts[0]).toMatch(/^\[Older messages are left out here/)
    expect(found?.parts.at(-1)).toMatch(/question 399$/)
    expect(found?.messages).toBe(799)
  })

  it('does not happen if all messages stay', () => {
    expect(collect(exchanges(10).log, POLICY)).toBeUndefined()
    expect(collect([], POLICY)).toBeUndefined()
  })

  it('sends the previous summary in front of the conversation', () => {
    expect(summaryRequestText('USER: hello', 'the former')).toBe(
      '<conversation_summary>\nthe former\n</conversation_summary>\n<conversation>\nUSER: hello\n</conversation>',
    )
  })
})
