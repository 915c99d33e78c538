/* Evidence, replay: Requests fit the model's context. Between two truncations, each request starts with the same bytes as the
 * previous one. */
/* Evidence, replay: A request omits something only by a recorded decision. */
import { afterEach, describe, expect, it } from 'vitest'
import { CUT_NOTE } from '../../../../functions/log/request/request-context.ts'
import { toOpenAiMessages } from '../../../../functions/log/formats/openai-format.ts'
import { weighMessages } from '../../../../functions/log/request/token-weight.ts'
import type { ModelRequest } from '../../../../functions/domain/model-request.ts'
import { ModelError } from '../../../../functions/ports/model.ts'
import { completionOf, makeTool, openHarness } from '../../harness.ts'
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

const tooLong: Turn = async function* () {
  yield* []
  throw new ModelError('context_length', 'too long', { retryable: false })
}

async function converse(turns: number, words = 20): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await harness.settled(await harness.submit(`${turn} ${WORDS.repeat(words)}`))
}

const isCut = ({ messages }: ModelRequest): boolean =>
  messages[0]?.parts.some((part) => 'text' in part && part.text === CUT_NOTE) === true

describe('the token budget', () => {
  it.each([0.6, 1, 1.5])(
    'applies to a provider that reports %s times the estimated tokens, after its first report',
    async (rate) => {
      harness = await openHarness({ script: Array.from({ length: 60 }, () => counting(WORDS, rate)), policies })
      await converse(60)
      const counts = harness.requests.map((request) => countOf(request) * rate)
      for (const [index, count] of counts.entries()) if (index > 2) expect(count).toBeLessThan(3_000 * 1.1)
      const cuts = harness.requests.flatMap((request, index) => {
        const before = harness.requests[index - 1]
        return before !== undefined && isCut(request) && request.messages.length < before.messages.length ? [index] : []
      })
      expect(cuts.length).toBeGreaterThan(3)
      for (const index of cuts) {
        expect(counts[index]).toBeGreaterThan(3_000 * 0.35)
        expect(counts[index]).toBeLessThan(3_000 * 0.75)
      }
    },
  )

  it('leaves the prefix byte for byte unchanged between two truncations', async () => {
    harness = await openHarness({ script: Array.from({ length: 40 }, () => counting(WORDS, 1)), policies })
    await converse(40)
    const requests = harness.requests.map(({ messages }) => JSON.stringify(messages).slice(1, -1))
    const kept = requests.filter((request, index) => index > 0 && request.startsWith(requests[index - 1] ?? '?'))
    expect(kept.length).toBeGreaterThan(30)
    expect(kept.length).toBeLessThan(39)
  })

  it('reserves tokens for the completion', async () => {
    const script = Array.from({ length: 30 }, () => counting(WORDS, 1))
    harness = await openHarness({ script, policies, modelOptions: { maxOutputTokens: 1_500 } })
    await converse(30)
    for (const request of harness.requests) expect(countOf(request)).toBeLessThan(1_500 * 1.1)
  })

  it('repeats a recorded truncation in another process, whatever that process estimates', async () => {
    harness = await openHarness({ script: Array.from({ length: 20 }, () => counting(WORDS, 1)), policies })
    await converse(20)
    const before = harness.requests.at(-1)
    const { cut } = await harness.ports.reader.context(harness.key)
    expect(cut?.messages).toBeGreaterThan(0)
    const other = harness.another([counting('later', 0.3)])
    await other.settled(await other.submit('later'))
    const [request] = other.requests
    expect(request?.messages.slice(0, before?.messages.length)).toEqual(before?.messages)
  })

  it("continues to apply after a manual summary, with the provider's token counts", async () => {
    const script = Array.from({ length: 22 }, () => counting(WORDS, 1.5))
    harness = await openHarness({ script, policies })
    await converse(20)
    const { cut } = await harness.ports.reader.context(harness.key)
    const { through } = await harness.service.consolidate(harness.session, {})
    expect(cut !== undefined && cut.from > through).toBe(true)
    expect((await harness.ports.reader.context(harness.key)).cut).toMatchObject({ from: cut?.from })
    const { estimatedTokens } = await harness.service.context(harness.session, undefined)
    await harness.settled(await harness.submit('x'))
    const [last] = harness.requests.slice(-1)
    const counted = last === undefined ? 0 : countOf(last) * 1.5
    expect(Math.abs(estimatedTokens - counted)).toBeLessThan(counted * 0.25)
  })

  it('omits the oldest rounds of a long run, but never its input', async () => {
    const look = makeTool('look', async () => ({ text: WORDS.repeat(20) }))
    const script: Turn[] = Array.from(
      { length: 30 },
      () =>
        async function* (request) {
          const turn = { calls: [{ name: 'look' }], inputTokens: countOf(request) }
          yield { type: 'completion', completion: completionOf(turn) }
        },
    )
    harness = await openHarness({
      script: [...script, { text: 'done' }],
      tools: [look],
      policies: { ...policies, maxRounds: 50 },
    })
    await harness.settled(await harness.submit('the task'))
    const last = harness.requests.at(-1)
    expect(last?.messages[1]).toEqual({ role: 'user', parts: [{ type: 'text', text: 'the task' }] })
    expect(last?.messages[2]?.role).toBe('assistant')
    expect(last !== undefined && countOf(last)).toBeLessThan(3_300)
    expect(await harness.log()).toHaveLength(62)
  })

  it('does not count media of earlier runs, which are not sent; each omission is a recorded decision', async () => {
    const shot = { type: 'image', mediaType: 'image/png', data: new Uint8Array([1, 2, 3]) } as const
    const look = makeTool('look', async () => ({ text: WORDS.repeat(20), media: [shot] }))
    const turn: Turn = async function* (request) {
      const text = request.messages.at(-1)?.role === 'tool' ? { text: WORDS } : {}
      const calls = 'text' in text ? {} : { calls: [{ name: 'look' }, { id: 'again', name: 'look' }] }
      yield { type: 'completion', completion: completionOf({ ...text, ...calls, inputTokens: countOf(request) }) }
    }
    harness = await openHarness({
      script: Array.from({ length: 60 }, () => turn),
      tools: [look],
      policies: { contextTokens: 12_000, consolidation: false },
    })
    const firsts: string[] = []
    for (let number = 0; number < 20; number++) {
      await harness.settled(await harness.submit(`${number} ${WORDS}`))
      const { cut } = await harness.ports.reader.context(harness.key)
      const opening = harness.requests.at(-1)?.messages.slice(0, 3)
      firsts.push(`${cut?.from ?? 'all'} ${JSON.stringify(opening)}`)
    }
    const cuts = new Set(firsts.map((first) => first.split(' ')[0]))
    expect(cuts.size).toBeGreaterThan(1)
    expect(cuts.size).toBeLessThan(4)
    expect(new Set(firsts.slice(1)).size).toBe(cuts.size)
  })
})

describe('a request that is too long for the provider', () => {
  it('is retried once with at most two thirds of its size; the reduction is recorded, with a warning', async () => {
    harness = await openHarness({
      script: [...Array.from({ length: 5 }, () => counting(WORDS, 1)), tooLong, { text: 'now' }, { text: 'then' }],
      policies,
    })
    await converse(6)
    const [refused, again] = harness.requests.slice(-2)
    if (refused === undefined || again === undefined) throw new Error('no requests')
    expect(countOf(again)).toBeLessThanOrEqual((countOf(refused) * 2) / 3 + 1)
    expect(harness.events.filter(({ type }) => type === 'warning')).toMatchObject([{ code: 'context_reduced' }])
    expect(isCut(again)).toBe(true)
    await converse(1)
    expect(harness.requests.at(-1)?.messages.slice(0, again.messages.length)).toEqual(again.messages)
  })

  it('fails if the shorter request is also too long', async () => {
    harness = await openHarness({
      script: [counting(WORDS, 1), counting(WORDS, 1), tooLong, tooLong, tooLong],
      policies,
    })
    await converse(3)
    expect(harness.requests).toHaveLength(4)
    const [last] = (await harness.ports.reader.runs(harness.key, { limit: 1 })).runs
    expect(last).toMatchObject({ status: 'failed', error: { code: 'context_length' } })
  })
})

describe('the context of a session', () => {
  it('equals the model’s next request, and reading it writes nothing', async () => {
    harness = await openHarness({ script: Array.from({ length: 30 }, () => counting(WORDS, 1)), policies })
    await converse(20)
    for (let turn = 0; turn < 10; turn++) {
      const before = JSON.stringify(await harness.ports.reader.context(harness.key))
      const next = await harness.service.context(harness.session, undefined)
      expect(JSON.stringify(await harness.ports.reader.context(harness.key))).toBe(before)
      await harness.settled(await harness.submit(`${turn} x`))
      const sent = harness.requests.at(-1)
      expect(toOpenAiMessages(next.request.messages)).toEqual(toOpenAiMessages(sent?.messages ?? []).slice(0, -1))
      expect(next.request.tools).toEqual(sent?.tools)
    }
  })

  it.each([
    ['is truncated before the limit is reached, in the write of the notice with which a run starts', 0.5, 1],
    ['is complete while it fits, for a run without a later summary', 1, 0],
  ])('%s', async (_, keepRecentRatio, cuts) => {
    const consolidation = { threshold: 10, keepRecentRatio }
    const script = Array.from({ length: 5 }, () => counting(WORDS, 1))
    harness = await openHarness({ script, policies: { contextTokens: 1_300, consolidation } })
    await converse(4, 25)
    const next = await harness.service.context(harness.session, undefined)
    const run = await harness.submit('x')
    await harness.settled(run)
    const [sent] = harness.requests.slice(-1)
    expect(toOpenAiMessages(next.request.messages)).toEqual(toOpenAiMessages(sent?.messages ?? []).slice(0, -1))
    expect([next.omitted > 0, sent !== undefined && isCut(sent)]).toEqual([cuts > 0, cuts > 0])
    expect(await harness.ports.reader.run(harness.key, run)).toMatchObject({
      decisions: 1,
      notices: [{ type: 'context.nearly_full', messages: 8 }],
    })
  })

  it('shows which calls of a paused run are waiting', async () => {
    const ask = { name: 'ask', description: 'asks', parameters: { type: 'object' } }
    harness = await openHarness({ script: [{ calls: [{ name: 'ask' }] }, { text: 'done' }] })
    const run = await harness.submit('go', { clientTools: [ask] })
    await harness.settled(run)
    const next = await harness.service.context(harness.session, run)
    expect(next.request.messages.at(-1)).toMatchObject({ role: 'tool', parts: [{ text: '[waiting for an answer]' }] })
    expect(next.request.tools.map(({ name }) => name)).toEqual(['ask'])
    await expect(harness.service.context(harness.session, '01ARZ3NDEKTSV4RRFFQ69G5FAV')).rejects.toMatchObject({
      code: 'run_not_found',
    })
  })
})
