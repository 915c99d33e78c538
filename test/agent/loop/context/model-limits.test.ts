import { afterEach, describe, expect, it } from 'vitest'
import { definedFields } from '../../../../functions/domain/defined-fields.ts'
import { CUT_NOTE } from '../../../../functions/log/request/request-context.ts'
import { weighMessages } from '../../../../functions/log/request/token-weight.ts'
import { SUMMARY_PROMPT } from '../../../../functions/log/request/summary-prompt.ts'
import type { ModelRequest } from '../../../../functions/domain/model-request.ts'
import { ModelError } from '../../../../functions/ports/model.ts'
import { completionOf, openHarness } from '../../harness.ts'
import type { Harness, Turn } from '../../harness.ts'

let harness: Harness
afterEach(() => harness.close())

const WORDS = 'one two three four five six seven eight nine ten '
const policies = { contextTokens: 3_000, consolidation: false } as const

/** Plays a model that reports `rate` times the weight of the request as the request's tokens. */
const counting = (text: string, rate: number): Turn =>
  async function* (request) {
    yield { type: 'completion', completion: completionOf({ text, inputTokens: Math.round(countOf(request) * rate) }) }
  }

const countOf = ({ messages, tools }: ModelRequest): number => weighMessages(messages) + 40 * tools.length

async function converse(turns: number, words = 20): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await harness.settled(await harness.submit(`${turn} ${WORDS.repeat(words)}`))
}

const isCut = ({ messages }: ModelRequest): boolean =>
  messages[0]?.parts.some((part) => 'text' in part && part.text === CUT_NOTE) === true

/** Plays a provider that counts one token per unit of weight, and refuses requests with more than `most`. */
const holding = (most: number, refuse: (count: number) => ModelError): Turn =>
  async function* (request) {
    const count = countOf(request)
    if (count > most) throw refuse(count)
    yield { type: 'completion', completion: completionOf({ text: WORDS, inputTokens: count }) }
  }

const warnings = (): unknown[] => harness.events.flatMap((event) => (event.type === 'warning' ? [event.code] : []))
const lastRun = async () => (await harness.ports.reader.runs(harness.key, { limit: 1 })).runs[0]
const odd = (status: number): ModelError =>
  new ModelError('invalid_request', 'das geht nicht', { retryable: false, status })
const named = (count: number): ModelError =>
  new ModelError('context_length', 'no', { retryable: false, status: 400, size: { maxTokens: 1_000, tokens: count } })

describe('a model with a smaller limit than its agent’s setting · sqlite', () => {
  it('field/too-long/limit-in-the-refusal: the limit is learned from one refusal, stored, and used by other processes', async () => {
    const script = Array.from({ length: 80 }, () => holding(1_000, named))
    harness = await openHarness({ script, policies: { ...policies, contextTokens: 200_000 } })
    await converse(30)
    expect(await lastRun()).toMatchObject({ status: 'completed' })
    expect(warnings()).toEqual(['context_reduced'])
    expect((await harness.ports.reader.context(harness.key)).limits).toEqual({ 'script/ed': 1_000 })
    const next = await harness.service.context(harness.session, undefined)
    expect([next.contextTokens, next.estimatedTokens <= 1_000]).toEqual([1_000, true])
    // Another process and later runs use the learned limit without a refusal.
    const other = harness.another(script)
    for (let turn = 0; turn < 5; turn++) await other.settled(await other.submit(`${turn} ${WORDS.repeat(20)}`))
    expect(other.requests.every((request) => countOf(request) <= 1_000)).toBe(true)
  })

  it.each([
    ['no-number', 'each failed run leaves a smaller request, and no limit', undefined],
    ['only-a-code', 'each failed run leaves a smaller limit', { isCoded: true }],
  ] as const)('field/too-long/%s: %s, until a request fits', async (name, _, size) => {
    const plain = (): ModelError =>
      new ModelError('context_length', 'no', { retryable: false, status: 400, ...definedFields({ size }) })
    let most = Infinity
    const turn: Turn = (request, signal) => (holding(most, plain) as Extract<Turn, Function>)(request, signal)
    harness = await openHarness({
      script: Array.from({ length: 60 }, () => turn),
      policies: { ...policies, contextTokens: 200_000 },
    })
    await converse(20)
    most = 1_500
    await converse(6, 1)
    expect(await lastRun()).toMatchObject({ status: 'completed' })
    const { limits } = await harness.ports.reader.context(harness.key)
    if (name === 'no-number') expect(limits).toBeUndefined()
    else expect(limits?.['script/ed']).toBeLessThan(200_000)
  })

  it.each([
    ['half-of-the-context', 3_000, 1_600, 20],
    ['larger-than-any-taken', 200_000, 4_800, 60],
  ])(
    'field/too-long/%s: after an odd refusal of a large request, a smaller request is sent',
    async (_, contextTokens, most, words) => {
      const script = Array.from({ length: 40 }, () => holding(most, () => odd(400)))
      harness = await openHarness({ script, policies: { ...policies, contextTokens } })
      await converse(15, words)
      expect(await lastRun()).toMatchObject({ status: 'completed' })
      expect(warnings()).toContain('context_reduced')
      const refused = harness.requests.findIndex((request) => countOf(request) > most)
      expect(
        countOf(harness.requests[refused + 1] ?? { messages: [], tools: [], toolChoice: 'auto', options: {} }),
      ).toBeLessThanOrEqual(
        (countOf(harness.requests[refused] ?? { messages: [], tools: [], toolChoice: 'auto', options: {} }) * 2) / 3 +
          1,
      )
      // No limit is learned from a refusal with an unknown reason.
      expect((await harness.ports.reader.context(harness.key)).limits).toBeUndefined()
    },
  )

  it('field/too-long/another-reason: a truncation that does not help is undone, and the run fails with the first reason', async () => {
    const turns = Array.from({ length: 5 }, () => counting(WORDS, 1))
    const refuse: Turn = async function* () {
      yield* []
      throw odd(422)
    }
    harness = await openHarness({ script: [...turns, refuse, refuse, ...turns], policies })
    await converse(5, 30)
    const before = await harness.ports.reader.context(harness.key)
    await converse(1, 30)
    expect(await lastRun()).toMatchObject({ status: 'failed', error: { code: 'invalid_request' } })
    expect(harness.requests).toHaveLength(7)
    const { repairs, ...after } = await harness.ports.reader.context(harness.key)
    expect(after).toEqual(before)
    // Texts have no other form, so there was no repair step.
    expect(repairs?.['openai-compatible/script/ed']?.steps).toEqual([])
    await converse(1)
    expect(harness.requests.at(-1)?.messages.slice(0, 10)).toEqual(harness.requests[5]?.messages.slice(0, 10))
  })

  it('an unexplained refusal of a small request fails at once if the model accepted a larger one', async () => {
    const script = [
      counting('x', 40),
      async function* () {
        yield* []
        throw odd(400)
      } as Turn,
    ]
    harness = await openHarness({ script, policies })
    await converse(2)
    expect(harness.requests).toHaveLength(2)
    expect(await lastRun()).toMatchObject({ status: 'failed', error: { code: 'invalid_request' } })
  })

  it('two members that learn limits at once store the lower limit', async () => {
    const refuse = (maxTokens: number): Turn =>
      async function* () {
        yield* []
        throw new ModelError('context_length', 'no', { retryable: false, status: 400, size: { maxTokens } })
      }
    const task = (id: string) => ({
      ...{ id, name: 'delegate_task_to_member', arguments: JSON.stringify({ member: 'helper', task: 'look' }) },
    })
    harness = await openHarness({
      script: [{ calls: [task('a'), task('b')] }, { text: 'done' }],
      team: { helper: { script: [refuse(1_000), refuse(2_000)] } },
      policies,
    })
    await converse(1)
    const { limits } = await harness.ports.reader.context(harness.key)
    expect(limits?.['script/helper']).toBe(500)
  })

  it('field/too-long/failed-after-the-cut: a truncation is kept after its run fails, and the next run starts with the smaller request', async () => {
    const fails: Turn = async function* () {
      yield* []
      throw new Error('no more')
    }
    const script = [...Array.from({ length: 6 }, () => counting(WORDS, 1)), holding(10, named), fails]
    harness = await openHarness({ script, policies })
    await converse(7)
    const smaller = harness.requests.at(-1)
    const other = harness.another([{ text: 'then' }])
    await other.settled(await other.submit('and now'))
    expect(isCut(smaller ?? { messages: [], tools: [], toolChoice: 'auto', options: {} })).toBe(true)
    expect(other.requests[0]?.messages.slice(0, smaller?.messages.length)).toEqual(smaller?.messages)
  })
})

describe('consolidation of a conversation · sqlite', () => {
  it.each([
    ['summary-limit', new ModelError('context_length', 'no', { retryable: false, size: { maxTokens: 2_000 } })],
    ['summary-odd-refusal', new ModelError('invalid_request', 'das geht nicht', { retryable: false, status: 400 })],
  ])(
    'field/too-long/%s: a summary that is refused for its size is requested again from less text',
    async (name, refusal) => {
      const long = 'one two three four five six seven eight nine ten '.repeat(60)
      const refuse: Turn = async function* () {
        yield* []
        throw refusal
      }
      const turns = Array.from({ length: 4 }, (): Turn => ({ text: long }))
      const summaries = Array.from({ length: 3 }, (_, part): Turn => ({ text: `part ${part}`, tokens: 5 }))
      harness = await openHarness({
        script: [...turns, refuse, ...summaries, { text: 'then' }],
        policies: { consolidation: { threshold: 6, keepRecentRatio: 0.4 } },
      })
      for (let turn = 0; turn < 5; turn++) await harness.settled(await harness.submit(`question ${turn}`))
      const asked = harness.requests.filter(({ instructions }) => instructions === SUMMARY_PROMPT)
      const lengths = asked.map(({ messages }) => weighMessages(messages))
      expect(lengths.length).toBeGreaterThan(1)
      expect(Math.max(...lengths.slice(1))).toBeLessThan(lengths[0] ?? 0)
      expect(harness.events.map(({ type }) => type).filter((type) => /^(context\.c|warning)/.test(type))).toEqual([
        'context.consolidated',
      ])
      const { limits, summary } = await harness.ports.reader.context(harness.key)
      if (name === 'summary-limit') expect(limits?.['script/ed']).toBeLessThanOrEqual(2_000)
      else expect(limits).toBeUndefined()
      expect(summary?.text).toMatch(/^part [12]$/)
    },
  )
})
