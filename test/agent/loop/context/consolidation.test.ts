/* Evidence, replay: A conversation is consolidated at its threshold only, never inside a round; a failed summary
 * changes nothing. */
import { afterEach, describe, expect, it } from 'vitest'
import type { RequestMessage } from '../../../../functions/domain/model-request.ts'
import { SUMMARY_PROMPT } from '../../../../functions/log/request/summary-prompt.ts'
import { ModelError } from '../../../../functions/ports/model.ts'
import { makeTool, openHarness } from '../../harness.ts'
import type { Harness, Turn } from '../../harness.ts'

let harness: Harness
afterEach(() => harness.close())

const consolidation = { threshold: 6, keepRecentRatio: 0.4 }
const look = makeTool('look', async () => ({ text: 'SECRET RESULT' }))

async function converse(turns: number, first = 0): Promise<void> {
  for (let turn = first; turn < first + turns; turn++) await harness.settled(await harness.submit(`question ${turn}`))
}

const completions = (count: number, first = 0): Turn[] =>
  Array.from({ length: count }, (_, turn) => ({ text: `answer ${first + turn}` }))

const textsOf = (messages: readonly RequestMessage[]): string[] =>
  messages.flatMap(({ parts }) => parts.flatMap((part) => ('text' in part ? [part.text] : [])))

const kinds = (): string[] => harness.events.map(({ type }) => type).filter((type) => /^(context|warning)/.test(type))

describe('consolidation of a conversation', () => {
  it('summarises the older messages before the first request of a run over the threshold', async () => {
    const script = [...completions(4), { text: 'so far', tokens: 7 }, ...completions(2, 4)]
    harness = await openHarness({ script, policies: { consolidation } })
    await converse(4)
    expect(kinds()).toEqual(['context.nearly_full', 'context.nearly_full'].slice(0, kinds().length))
    await converse(1, 4)
    const summarising = harness.requests[4]
    expect(summarising?.instructions).toBe(SUMMARY_PROMPT)
    expect(summarising?.tools).toEqual([])
    expect(textsOf(summarising?.messages ?? [])[0]).toContain('USER: question 0\nASSISTANT: answer 0')
    expect(textsOf(harness.requests[5]?.messages ?? [])).toEqual([
      '<conversation_summary>\nso far\n</conversation_summary>',
      'question 3',
      'answer 3',
      'question 4',
    ])
    const log = await harness.log()
    expect(log).toHaveLength(10)
    const session = await harness.ports.sessions.read(harness.key)
    expect(session?.summary).toMatchObject({ text: 'so far', through: log[5]?.id, messages: 6, model: 'script/ed' })
    expect(session?.totals.byAgent).toMatchObject({ summary: { totalTokens: 7 }, default: { totalTokens: 50 } })
    const run = await harness.ports.reader.run(harness.key, log.at(-1)?.runId ?? '')
    expect(run?.usage.totalTokens).toBe(17)
  })

  it('makes later runs read only the messages after the summary', async () => {
    const script = [...completions(4), { text: 'so far' }, ...completions(2, 4)]
    const read: string[] = []
    harness = await openHarness({
      script,
      policies: { consolidation },
      change: (ports) => ({
        ...ports,
        reader: {
          ...ports.reader,
          async messages(key, query) {
            const page = await ports.reader.messages(key, query)
            if (query.order === 'descending') read.push(...page.messages.map(({ id }) => id))
            return page
          },
        },
      }),
    })
    await converse(5)
    read.length = 0
    await converse(1, 5)
    const { summary } = await harness.ports.reader.context(harness.key)
    expect(read.length).toBeGreaterThan(3)
    expect(read.filter((id) => id <= (summary?.through ?? ''))).toEqual([])
  })

  it('counts towards the run’s token budget, also for a later holder of the run', async () => {
    const stops: Turn = async function* (_request, signal) {
      yield { type: 'text.delta', part: 0, text: 'a' }
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
    }
    const script = [...completions(4), { text: 'so far', tokens: 100 }, stops]
    harness = await openHarness({ script, tools: [look], policies: { consolidation, maxRunTokens: 100 } })
    await converse(4)
    const runId = await harness.submit('question 4')
    await expect
      .poll(() => harness.events.filter((one) => one.type === 'text.delta' && one.text === 'a'))
      .toHaveLength(1)
    expect(harness.requests.at(-1)?.toolChoice).toBe('none')
    const stopped = harness.worker.handOff()
    harness.worker.cutOff('shutting_down')
    await stopped
    const next = harness.another([{ text: 'no more' }])
    await next.worker.serve(next.key)
    expect(await next.settled(runId)).toMatchObject({ status: 'completed', stopReason: 'budget' })
    expect(next.requests.map(({ toolChoice }) => toolChoice)).toEqual(['none'])
  })

  it('remains identical until the next summary, which includes it', async () => {
    const script = [
      ...completions(4),
      { text: 'first' },
      ...completions(3, 4),
      { text: 'second' },
      ...completions(1, 7),
    ]
    harness = await openHarness({ script, policies: { consolidation } })
    await converse(8)
    const requests = harness.requests.map(({ messages }) => JSON.stringify(messages).slice(1, -1))
    expect(requests[6]?.startsWith(requests[5] ?? '?')).toBe(true)
    expect(requests[7]?.startsWith(requests[6] ?? '?')).toBe(true)
    expect(textsOf(harness.requests[8]?.messages ?? [])[0]).toMatch(
      /^<conversation_summary>\nfirst\n<\/conversation_summary>\n<conversation>\nUSER: question 3/,
    )
    expect((await harness.ports.sessions.read(harness.key))?.summary).toMatchObject({ text: 'second', messages: 12 })
  })

  it('warns when two messages are left before the threshold, and warns followers that join later, too', async () => {
    harness = await openHarness({
      script: [...completions(4), { text: 'so far' }, ...completions(1)],
      policies: { consolidation },
    })
    await converse(4)
    const last = await harness.submit('question 4')
    await harness.settled(last)
    const notices = harness.events.filter(({ type }) => type.startsWith('context'))
    expect(notices).toMatchObject([
      { type: 'context.nearly_full', messages: 4, threshold: 6 },
      { type: 'context.nearly_full', messages: 6, threshold: 6 },
      { type: 'context.nearly_full', messages: 8, threshold: 6 },
      { type: 'context.consolidated', messages: 6, id: `${last}:context.consolidated:0` },
    ])
    const seen: string[] = []
    for await (const event of harness.service.follow(harness.key, last, { signal: AbortSignal.timeout(5_000) }))
      if ('id' in event) seen.push(event.id.replace(/^[^:]*:/, ''))
    expect(seen).toEqual([
      'run.started',
      'context.nearly_full:0',
      'context.consolidated:0',
      'message.completed',
      'run.completed',
    ])
  })

  it.each([
    [
      'fails',
      async function* () {
        yield* []
        throw new ModelError('invalid_request', 'no', { retryable: false })
      } as Turn,
      80,
    ],
    ['is empty', { text: ' \n', tokens: 7 }, 87],
  ])(
    'changes nothing when a summary %s: a warning is emitted, and the next run retries',
    async (_what, turn, total) => {
      const script = [
        ...completions(4),
        turn,
        ...completions(1, 4),
        { text: 'so far', tokens: 20 },
        ...completions(1, 5),
      ]
      harness = await openHarness({ script, policies: { consolidation } })
      await converse(5)
      expect(textsOf(harness.requests[5]?.messages ?? [])[0]).toBe('question 0')
      expect(harness.events.filter(({ type }) => type === 'warning')).toMatchObject([{ code: 'summary_failed' }])
      expect((await harness.ports.sessions.read(harness.key))?.summary).toBeUndefined()
      await converse(1, 5)
      const session = await harness.ports.sessions.read(harness.key)
      expect(session?.summary?.text).toBe('so far')
      expect(session?.totals.usage.totalTokens).toBe(total)
    },
  )

  it('is not triggered by tool messages, however many there are', async () => {
    const rounds: Turn[] = Array.from({ length: 4 }, () => ({
      calls: Array.from({ length: 60 }, () => ({ name: 'look' })),
    }))
    harness = await openHarness({
      script: [
        ...rounds,
        { text: 'answer 0' },
        ...rounds,
        { text: 'answer 1' },
        ...completions(2, 2),
        { text: 'so far' },
        ...completions(1, 4),
      ],
      tools: [look],
      policies: { consolidation },
    })
    await converse(4)
    expect(kinds().filter((type) => type !== 'context.nearly_full')).toEqual([])
    await converse(1, 4)
    const summarising = textsOf(harness.requests.at(-2)?.messages ?? [])[0] ?? ''
    expect(summarising.match(/TOOL CALL: look\(\) \(completed\) → output:/g)).toHaveLength(480)
    expect(summarising).not.toContain('SECRET RESULT')
    expect(textsOf(harness.requests.at(-1)?.messages ?? [])).toEqual([
      '<conversation_summary>\nso far\n</conversation_summary>',
      'question 3',
      'answer 3',
      'question 4',
    ])
  })

  it('a requested summary ignores the threshold, uses the configured prompt, and runs once per idempotency key', async () => {
    const policies = { consolidation: { threshold: 100, keepRecentRatio: 0.02, instructions: 'In rhyme.' } }
    harness = await openHarness({ script: [...completions(3), { text: 'by hand', tokens: 3 }], policies })
    await converse(3)
    const idempotency = { keyHash: 'k', bodyHash: 'b' }
    const summary = await harness.service.consolidate(harness.session, { idempotency })
    expect(summary).toMatchObject({ text: 'by hand', messages: 4 })
    expect(harness.requests[3]?.instructions).toBe('In rhyme.')
    expect(await harness.service.consolidate(harness.session, { idempotency })).toEqual(summary)
    await expect(harness.service.consolidate(harness.session, {})).rejects.toMatchObject({
      code: 'nothing_to_consolidate',
    })
    expect((await harness.ports.sessions.read(harness.key))?.totals.byAgent['summary']?.totalTokens).toBe(3)
  })

  it.each<readonly [what: string, stop: 'the client leaves' | 'the time is over', detail: RegExp]>([
    ['whose client disconnected', 'the client leaves', /nobody waits/],
    ['that exceeds its time', 'the time is over', /longer than 0.05 s/],
  ])('stops for a request %s, changes only the usage, and reports the reason', async (_, stop, detail) => {
    const policies = { consolidation: { threshold: 100, keepRecentRatio: 0.02 } }
    const left = new AbortController()
    let stopped = false
    const endless: Turn = async function* (_request, signal) {
      yield { type: 'text.delta', part: 0, text: 'so' }
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve))
      if (stop === 'the client leaves') left.abort(new Error('nobody waits'))
      await aborted
      stopped = true
    }
    harness = await openHarness({ script: [...completions(3), endless, { text: 'then' }], policies })
    await converse(3)
    const limit = stop === 'the time is over' ? { limitMs: 50 } : {}
    const options = { signal: left.signal, ...limit }
    await expect(harness.service.consolidate(harness.session, options)).rejects.toMatchObject({
      code: 'summary_failed',
      message: expect.stringMatching(detail) as string,
    })
    await expect.poll(() => stopped).toBe(true)
    expect(await harness.ports.reader.context(harness.key)).toEqual({})
    const query = { tenant: harness.key.tenant, from: '2020-01-01', to: '2120-01-01', by: 'agent' } as const
    const sums = await harness.ports.usage.sums(query)
    expect(sums.find(({ group }) => group === 'summary')).toMatchObject({ completions: 1 })
    expect(await harness.service.consolidate(harness.session, {})).toMatchObject({ text: 'then' })
  })

  it('a requested summary counts its usage but is not stored if a run changes the session meanwhile', async () => {
    const policies = { consolidation: { threshold: 100, keepRecentRatio: 0.02 } }
    let began: (() => void) | undefined
    const summary: Turn = async function* (_request, _signal) {
      await new Promise<void>((resolve) => (began = resolve))
      yield {
        type: 'completion',
        completion: {
          parts: [{ type: 'text', text: 'late' }],
          toolCalls: [],
          model: 'm',
          finishReason: 'stop',
          usage: {
            inputTokens: null,
            cachedInputTokens: null,
            cacheWriteTokens: null,
            outputTokens: null,
            reasoningTokens: null,
            totalTokens: 5,
          },
        },
      }
    }
    harness = await openHarness({ script: [...completions(3), summary, ...completions(1, 3)], policies })
    await converse(3)
    const made = harness.service.consolidate(harness.session, {}).catch((error: unknown) => error)
    while (harness.requests.length < 4) await new Promise((resolve) => setTimeout(resolve, 5))
    await converse(1, 3)
    began?.()
    expect(await made).toMatchObject({ code: 'session_busy' })
    const session = await harness.ports.sessions.read(harness.key)
    expect(session?.summary).toBeUndefined()
    expect(session?.totals.byAgent['summary']?.totalTokens).toBe(5)
  })
})
