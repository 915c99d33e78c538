import { afterEach, describe, expect, it, test } from 'vitest'
import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import type { SessionContext } from '../../../../functions/domain/context.ts'
import { LeaseLost } from '../../../../functions/domain/errors.ts'
import { ModelError } from '../../../../functions/ports/model.ts'
import type { Ports } from '../../../../functions/runtime/program.ts'
import { makeTool, openHarness } from '../../harness.ts'
import type { Harness, Turn } from '../../harness.ts'

let harness: Harness
let aheadMs = 0
afterEach(async () => {
  aheadMs = 0
  await harness.close()
})

const MODEL = 'openai-compatible/script/ed'
const tools = [makeTool('look-up', async () => ({ text: 'found' }))]
const policies = { consolidation: false } as const

const refusing: Turn = async function* () {
  yield* []
  throw new ModelError('invalid_request', 'no', { retryable: false, status: 400 })
}

const clock = { ...createSystemClock(), now: () => Date.now() + aheadMs }

/** Lets the first holder lose its lease after it has recorded a context for which `matches` returns true. */
const killedAfter = (matches: (context: SessionContext) => boolean) => {
  let isKilled = false
  return (ports: Ports): Ports => ({
    ...ports,
    log: {
      ...ports.log,
      async recordDecision(lease, decision) {
        await ports.log.recordDecision(lease, decision)
        if (isKilled || !matches(decision.context ?? {})) return
        isKilled = true
        throw new LeaseLost(lease.session, lease.generation)
      },
    },
  })
}

const stepsOf = async ({ ports, key }: Harness): Promise<readonly string[] | undefined> =>
  (await ports.reader.context(key)).repairs?.[MODEL]?.steps

describe('a refused request', () => {
  it('is sent in another form, which is recorded first, with a warning', async () => {
    const seen: unknown[] = []
    const repaired: Turn = async function* () {
      seen.push(await stepsOf(harness))
      yield { type: 'completion', completion: { parts: [{ type: 'text', text: 'done' }], toolCalls: [], ...REST } }
    }
    harness = await openHarness({ script: [{ calls: [{ name: 'look-up' }] }, refusing, repaired], tools, policies })
    expect((await harness.settled(await harness.submit('go'))).status).toBe('completed')
    expect(seen).toEqual([['names']])
    expect(harness.requests.map(({ narrowNames }) => narrowNames)).toEqual([undefined, undefined, true])
    expect(harness.events.filter(({ type }) => type === 'warning')).toMatchObject([{ code: 'request_repaired' }])
  })

  it('is sent by the next process in the recorded form if the first process could not send it', async () => {
    harness = await openHarness({
      script: [{ calls: [{ name: 'look-up' }] }, refusing],
      tools,
      policies,
      clock,
      change: killedAfter(({ repairs }) => repairs !== undefined),
    })
    const runId = await harness.submit('go')
    await harness.worker.idle()
    expect(harness.requests).toHaveLength(2)
    expect(await stepsOf(harness)).toEqual(['names'])
    aheadMs = 120_000
    const other = harness.another([{ text: 'done' }, { text: 'on' }])
    await other.worker.serve(harness.key)
    expect((await other.settled(runId)).status).toBe('completed')
    const [first] = other.requests
    expect(first?.narrowNames).toBe(true)
    const ids = (first?.messages ?? []).flatMap((one) => (one.role === 'tool' ? [one.toolCallId] : []))
    expect(ids).toEqual([expect.stringMatching(/^c[a-zA-Z0-9]{8}$/)])
    // Later runs start from this form, byte for byte.
    await other.settled(await other.submit('on'))
    expect(other.requests[1]?.messages.slice(0, first?.messages.length)).toEqual(first?.messages)
  })

  it('fails if no other form exists, and the error names the message', async () => {
    const script = [
      { calls: [{ name: 'look-up', arguments: 'not json' }] },
      ...Array.from({ length: 9 }, () => refusing),
    ]
    harness = await openHarness({ script, tools, policies })
    const run = await harness.settled(await harness.submit('go'))
    expect(run).toMatchObject({ status: 'failed', error: { code: 'invalid_request' } })
    const result = (await harness.log()).find(({ role }) => role === 'tool')
    expect(run.error?.message).toContain(result?.id ?? '?')
    // The three forms: the usual form, narrow names, and arguments as an object. The request has no media and no
    // reasoning to omit.
    expect(harness.requests).toHaveLength(4)
    // No form was accepted, so the next run begins with the usual form.
    expect(await stepsOf(harness)).toEqual([])
  })
})

describe('a large refused request', () => {
  const call = { name: 'look-up', arguments: 'not json' }
  const policies = { consolidation: false, contextTokens: 800 } as const
  const turns: Turn[] = [{ text: 'long '.repeat(400) }, { calls: [call] }, { text: 'found' }]

  it('is sent with less content first, then completely in another form', async () => {
    harness = await openHarness({ script: [...turns, refusing, refusing, refusing, { text: 'done' }], tools, policies })
    for (const text of ['one', 'two']) await harness.settled(await harness.submit(text))
    expect((await harness.settled(await harness.submit('three'))).status).toBe('completed')
    const [whole, smaller, narrow, done] = harness.requests.slice(turns.length)
    expect(smaller?.messages.length).toBeLessThan(whole?.messages.length ?? 0)
    expect([whole, smaller, narrow].map((request) => request?.narrowNames)).toEqual([undefined, undefined, true])
    expect(narrow?.messages[0]).toEqual(whole?.messages[0])
    // After the loop has tried another form of the request, it does not make the request smaller again.
    expect(done?.messages.length).toBe(whole?.messages.length)
    const codes = harness.events.flatMap((event) => (event.type === 'warning' ? [event.code] : []))
    expect(codes).toEqual(['context_reduced', 'request_repaired', 'request_repaired'])
  })

  it.each([
    ['the cut', ({ trial }: SessionContext) => trial?.before !== undefined, ['smaller', 'whole', 'narrow']],
    ['that the cut is undone', ({ trial }: SessionContext) => trial?.at && !trial.before, ['whole', 'narrow']],
  ] as const)(
    'gets the next form from the holder that takes over; recorded before the takeover: %s',
    async (_, matches, expected) => {
      const change = killedAfter((context) => Boolean(matches(context)))
      harness = await openHarness({ script: [...turns, refusing, refusing], tools, policies, clock, change })
      for (const text of ['one', 'two']) await harness.settled(await harness.submit(text))
      const before = await harness.ports.reader.context(harness.key)
      const runId = await harness.submit('three')
      await harness.worker.idle()
      const whole = harness.requests[turns.length]
      aheadMs = 120_000
      const refusals = expected.slice(1).map(() => refusing)
      const other = harness.another([...refusals, { text: 'done' }])
      await other.worker.serve(harness.key)
      expect((await other.settled(runId)).status).toBe('completed')
      const forms = other.requests.map((request) =>
        request.narrowNames === true
          ? 'narrow'
          : request.messages.length < (whole?.messages.length ?? 0)
            ? 'smaller'
            : 'whole',
      )
      expect(forms).toEqual(expected)
      expect(other.requests.at(-2)?.messages).toEqual(whole?.messages)
      expect(other.requests.at(-1)?.messages.length).toBe(whole?.messages.length)
      expect((await harness.ports.reader.context(harness.key)).cut).toEqual(before.cut)
    },
  )
})

test('a short request keeps its first messages in another form if the model has accepted no request yet', async () => {
  const call = { name: 'look-up' }
  const script = [{ calls: [call] }, { text: 'found' }, { calls: [call] }, refusing, { text: 'done' }]
  harness = await openHarness({ script, tools, policies })
  for (const text of ['one', 'two']) await harness.settled(await harness.submit(text))
  const [refused, repaired] = harness.requests.slice(-2)
  expect([refused?.narrowNames, repaired?.narrowNames]).toEqual([undefined, true])
  expect(repaired?.messages[0]).toEqual(refused?.messages[0])
})

test('a run sends four repaired requests at most, even if a fifth form differs', async () => {
  const thought: Turn = async function* () {
    const toolCalls = [{ id: 'c', name: 'look_up', arguments: 'not json' }]
    const parts = [{ type: 'reasoning', text: 'hm' } as const, { type: 'tool_call', id: 'c' } as const]
    yield { type: 'completion', completion: { parts, toolCalls, ...REST, finishReason: 'tool-calls' } }
  }
  const script = [refusing, refusing, thought, ...Array.from({ length: 9 }, () => refusing)]
  const plain = [makeTool('look_up', async () => ({ text: 'found' }))]
  harness = await openHarness({ script, tools: plain, policies })
  await harness.settled(await harness.submit('go'))
  const image = { type: 'image', mediaType: 'image/png', data: Buffer.from('an image') } as const
  const run = await harness.settled(await harness.submit([{ type: 'text', text: 'look' }, image]))
  expect(run.status).toBe('failed')
  // The four forms omit messages, reasoning, names and media. The form without unknown parts would be the fifth.
  expect(details().at(-1)).toMatch(/without images and files$/)
  expect(await stepsOf(harness)).toEqual([])
  const repaired = harness.events.filter((event) => event.type === 'warning' && event.code === 'request_repaired')
  expect(repaired).toHaveLength(4)
})

const details = (): string[] => harness.events.flatMap((event) => (event.type === 'warning' ? [event.detail] : []))

const delegate = (id: string) => ({
  ...{ id, name: 'delegate_task_to_member', arguments: JSON.stringify({ member: 'helper', task: 'look' }) },
})

describe('a refused request of a member', () => {
  it('makes later members and runs of the same model use the repaired form', async () => {
    const call = { calls: [{ name: 'look-up' }] }
    harness = await openHarness({
      script: [{ calls: [delegate('a')] }, { calls: [delegate('b')] }, { text: 'done' }],
      team: { helper: { script: [call, refusing, { text: 'one' }, call, { text: 'two' }] } },
      tools,
      policies,
    })
    expect((await harness.settled(await harness.submit('go'))).status).toBe('completed')
    const { repairs } = await harness.ports.reader.context(harness.key)
    expect(repairs?.['openai-compatible/script/helper']?.steps).toEqual(['names'])
    const helpers = harness.requests.filter(({ instructions }) => instructions?.includes('Be brief.') !== true)
    expect(helpers.map(({ narrowNames }) => narrowNames)).toEqual([undefined, undefined, true, true, true])
  })
})

describe('repairs for a member whose request is refused in every form', () => {
  it('are undone before the leader continues', async () => {
    const call = { calls: [{ name: 'look-up', arguments: 'not json' }] }
    harness = await openHarness({
      script: [{ calls: [delegate('a')] }, { calls: [delegate('b')] }, { text: 'done' }],
      team: { helper: { script: [call, refusing, refusing, refusing, { text: 'two' }] } },
      tools,
      policies,
    })
    expect((await harness.settled(await harness.submit('go'))).status).toBe('completed')
    const { repairs } = await harness.ports.reader.context(harness.key)
    expect(repairs?.['openai-compatible/script/helper']).toMatchObject({ steps: [], sent: { count: 2 } })
    const helpers = harness.requests.filter(({ instructions }) => instructions?.includes('Be brief.') !== true)
    expect(helpers.map(({ narrowNames }) => narrowNames).slice(-3)).toEqual([true, true, undefined])
  })
})

const REST = { model: 'script/ed', finishReason: 'stop', usage: { ...noUsage() } } as const

function noUsage() {
  const none = { inputTokens: null, cachedInputTokens: null, cacheWriteTokens: null }
  return { ...none, outputTokens: null, reasoningTokens: null, totalTokens: null }
}
