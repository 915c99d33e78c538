/* Evidence, durability: Members of a team work concurrently in one run. Each pauses and resumes individually, and its tokens
 * are counted. */
/* Evidence, replay: A truncated answer is marked as truncated, in the last round and in a member's result for its leader. */
import { afterEach, describe, expect, test } from 'vitest'
import type { Message, ToolMessage } from '../../../../functions/domain/messages/message.ts'
import { textOf } from '../../../../functions/domain/messages/message.ts'
import { ModelError } from '../../../../functions/ports/model.ts'
import { until } from '../../../eventually.ts'
import { completionOf, makeTool, openHarness } from '../../harness.ts'
import type { Harness, Turn } from '../../harness.ts'

let harness: Harness | undefined
afterEach(async () => {
  await harness?.close()
  harness = undefined
})
const set = async (options: Parameters<typeof openHarness>[0]): Promise<Harness> =>
  (harness = await openHarness(options))
const here = { here: true }
const text = (value: string) => [{ type: 'text', text: value }] as const
const clientTools = [{ name: 'ask', description: 'asks the caller', parameters: { type: 'object' } }]

const give = (member: string, task: string, id = `to-${member}`) => ({
  id,
  name: 'delegate_task_to_member',
  arguments: JSON.stringify({ member, task }),
})
const calls = (messages: readonly Message[]): ToolMessage[] => messages.filter((one) => one.role === 'tool')
const delegations = (messages: readonly Message[]): ToolMessage[] =>
  calls(messages).filter(({ toolName }) => toolName === 'delegate_task_to_member')
const results = (messages: readonly Message[]): [string, string][] =>
  delegations(messages).map(({ status, parts }) => [status, textOf(parts)])

test('a member’s truncated answer is distinguishable from a complete answer', async () => {
  const cut = { ...completionOf({ text: 'Ann and' }), finishReason: 'length' } as const
  const it = await set({
    script: [{ calls: [give('researcher', 'Who?')] }, { text: 'Ann and somebody.' }],
    team: {
      researcher: {
        script: [
          async function* () {
            yield { type: 'completion', completion: cut }
          },
        ],
      },
    },
  })
  await it.settled(await it.submit('Who is there?'))
  const [result] = results(await it.log())
  expect(result).toEqual(['completed', 'Ann and\n\n[This answer is not whole: the limit of output tokens cut it off.]'])
})

describe('a delegated task', () => {
  test('is executed by the member in the same run, and the leader gets only its result', async () => {
    const echo = makeTool('echo', async () => ({ text: 'echoed' }))
    const it = await set({
      script: [
        { calls: [give('researcher', 'Find the boss.')], tokens: 5 },
        { text: 'It is Ann.', tokens: 7 },
      ],
      team: { researcher: { script: [{ calls: [{ name: 'echo' }] }, { text: 'Ann.' }], instructions: 'Look it up.' } },
      tools: [echo],
    })
    const next = await it.service.context(it.session, undefined)
    const runId = await it.submit('Who is the boss?')
    expect(await it.settled(runId)).toMatchObject({
      status: 'completed',
      rounds: 2,
      usage: { totalTokens: 32 },
      usageByAgent: { default: { totalTokens: 12 }, researcher: { totalTokens: 20 } },
    })
    const [asked, first, second, last] = it.requests
    expect(next.request.tools).toEqual(asked?.tools)
    expect(asked?.tools.map(({ name }) => name)).toEqual(['echo', 'delegate_task_to_member'])
    expect(first).toMatchObject({
      instructions: 'Look it up.',
      messages: [{ role: 'user', parts: text('Find the boss.') }],
    })
    expect(second?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
    expect(last?.messages.slice(-1)).toMatchObject([{ role: 'tool', toolCallId: 'to-researcher', parts: text('Ann.') }])
    expect(last?.messages).toHaveLength(3)

    const log = await it.log()
    const call = delegations(log)[0]
    const own = log.filter(({ agent }) => agent === 'researcher')
    expect(own.map(({ role, round }) => [role, round])).toEqual([
      ['user', 0],
      ['assistant', 0],
      ['tool', 0],
      ['assistant', 1],
    ])
    for (const one of own) expect(one).toMatchObject({ parentToolCallId: 'to-researcher', parentMessageId: call?.id })
    expect(log.map(({ id }) => id)).toEqual(log.map(({ id }) => id).toSorted())
    expect(call).toMatchObject({ status: 'completed', sequence: 0, parts: text('Ann.') })

    const reported = it.events.filter(({ parentMessageId }) => parentMessageId !== undefined)
    expect(new Set(reported.map(({ type }) => type))).toEqual(
      new Set(['round.started', 'message.completed', 'tool_call.started', 'tool_call.completed', 'text.delta']),
    )
    for (const one of reported) expect(one).toMatchObject({ agent: 'researcher', parentToolCallId: 'to-researcher' })
  })

  test('can run at the same time as many others and can be delegated further', async () => {
    const count = 12
    let inside = 0
    const meet = makeTool('meet', async () => {
      inside++
      await until(() => inside === count)
      return { text: 'met' }
    })
    const both: Turn[] = Array.from({ length: count }, () => ({ calls: [{ name: 'meet' }] }))
    const it = await set({
      script: [
        { calls: Array.from({ length: count }, (_, n) => give('lead', `part ${n}`, `c${n}`)) },
        { text: 'all done' },
      ],
      team: {
        lead: {
          script: [...both.map(() => ({ calls: [give('hand', 'meet')] })), ...both.map(() => ({ text: 'led' }))],
          members: ['hand'],
        },
        hand: {
          script: [...both.map(() => ({ calls: [give('finger', 'meet')] })), ...both.map(() => ({ text: 'handed' }))],
          members: ['finger'],
        },
        finger: { script: [...both, ...both.map(() => ({ text: 'fingered' }))] },
      },
      tools: [meet],
    })
    expect(await it.settled(await it.submit('go'))).toMatchObject({ status: 'completed', rounds: 2 })
    const log = await it.log()
    expect(results(log)).toHaveLength(3 * count)
    expect(results(log).filter(([status]) => status !== 'completed')).toEqual([])
    expect(log.map(({ id }) => id)).toEqual(log.map(({ id }) => id).toSorted())
    const byRow = new Map(log.map((message) => [message.id, message]))
    for (const one of log.filter(({ agent }) => agent === 'finger')) {
      const hand = byRow.get(one.parentMessageId ?? '')
      const lead = byRow.get(hand?.parentMessageId ?? '')
      expect([hand?.agent, lead?.agent]).toEqual(['hand', 'lead'])
      expect(byRow.get(lead?.parentMessageId ?? '')?.agent).toBe('default')
    }
  })

  test('with an unknown member, or without a task, is an error that the model can correct', async () => {
    const absent = { id: 'x', name: 'delegate_task_to_member' }
    const it = await set({
      script: [
        {
          calls: [
            give('ghost', 'boo'),
            { ...absent, id: 'a', arguments: '{"member": "researcher", "task": " "}' },
            { ...absent, id: 'b', arguments: '{"member": "researcher"' },
            { ...absent, id: 'c', arguments: '{"member": "researcher", "task": "x", "more": 1}' },
          ],
        },
        { text: 'sorry' },
      ],
      team: { researcher: { script: [] } },
    })
    expect(await it.settled(await it.submit('go'))).toMatchObject({ status: 'completed' })
    expect(results(await it.log())).toMatchObject([
      ['error', expect.stringContaining('there is no member "ghost": the members are researcher')],
      ['error', expect.stringContaining('the task not blank')],
      ['error', expect.stringContaining('not valid JSON')],
      ['error', expect.stringContaining('must be {"member"')],
    ])
    expect(it.requests).toHaveLength(2)
  })

  test('that fails or exceeds its limit of rounds becomes an error of its call; the run continues', async () => {
    const echo = makeTool('echo', async () => ({ text: '' }))
    const refuses: Turn = async function* () {
      yield { type: 'text.delta', part: 0, text: 'I' }
      throw new ModelError('refused', 'never', { retryable: false })
    }
    const it = await set({
      script: [{ calls: [give('shy', 'a'), give('slow', 'b')] }, { text: 'well' }],
      team: {
        shy: { script: [refuses] },
        slow: { script: [{ calls: [{ name: 'echo' }] }, { text: 'halfway' }], policies: { maxRounds: 1 } },
      },
      tools: [echo],
    })
    expect(await it.settled(await it.submit('go'))).toMatchObject({ status: 'completed', stopReason: 'answer' })
    const log = await it.log()
    expect(results(log)).toEqual([
      ['error', 'error: shy failed: refused: never'],
      ['error', 'error: slow has used up its rounds (max_rounds). It said last: halfway'],
    ])
    expect(log.find(({ agent, role }) => agent === 'shy' && role === 'assistant')).toMatchObject({
      finishReason: 'error',
      parts: [
        { type: 'text', text: 'I' },
        { type: 'error', code: 'refused' },
      ],
    })
    const asked = it.requests.filter(({ messages }) => textOf(messages[0]?.parts as never) === 'b')
    expect(asked.map(({ toolChoice }) => toolChoice)).toEqual(['auto', 'none'])
  })

  test('counts towards the budget of the run', async () => {
    const it = await set({
      script: [
        { calls: [give('spender', 'a')], tokens: 10 },
        { text: 'over', tokens: 1 },
      ],
      team: {
        spender: {
          script: [
            { calls: [{ name: 'echo' }], tokens: 95 },
            { text: 'stopped', tokens: 1 },
          ],
        },
      },
      tools: [makeTool('echo', async () => ({ text: '' }))],
      policies: { maxRunTokens: 100 },
    })
    expect(await it.settled(await it.submit('go'))).toMatchObject({ status: 'completed', stopReason: 'budget' })
    expect(it.requests.map(({ toolChoice }) => toolChoice)).toEqual(['auto', 'auto', 'none', 'none'])
    expect(results(await it.log())).toEqual([
      ['error', 'error: spender has used up its tokens (max_run_tokens). It said last: stopped'],
    ])
  })
})

describe('a waiting member', () => {
  test('pauses the run once everything else has ended, and a result resumes exactly that member', async () => {
    const approve = makeTool('pay', async () => ({ text: 'paid' }), { needsApproval: true })
    const it = await set({
      script: [{ calls: [give('asker', 'ask'), give('payer', 'pay'), give('quick', 'be quick')] }, { text: 'all' }],
      team: {
        asker: { script: [{ calls: [{ id: 'q', name: 'ask' }] }, { text: 'asked' }] },
        payer: { script: [{ calls: [{ id: 'q', name: 'pay' }] }, { text: 'payed' }] },
        quick: { script: [{ text: 'quick' }] },
      },
      tools: [approve],
    })
    const runId = await it.submit('go', { clientTools })
    expect(await it.settled(runId)).toMatchObject({ status: 'paused' })
    const paused = await it.log()
    expect(delegations(paused).map(({ status }) => status)).toEqual(['running', 'running', 'completed'])
    const waiting = calls(paused).filter(({ status }) => status === 'waiting')
    expect(
      waiting.map(({ agent, needs }) => `${agent} ${needs}`).toSorted((one, other) => one.localeCompare(other)),
    ).toEqual(['asker result', 'payer approval'])
    const [asked, payed] = ['asker', 'payer'].map((name) => waiting.find(({ agent }) => agent === name)?.id ?? '')
    if (asked === undefined || payed === undefined) throw new Error('nothing waits')
    const before = it.requests.length
    const resolve = (messageId: string, more: object) =>
      it.service.resolve(it.session, runId, [{ toolCallId: 'q', messageId, ...more } as never], here)
    await resolve(payed, { approve: true })
    expect(it.requests).toHaveLength(before)
    await resolve(asked, { output: text('42') })
    expect(await it.settled(runId)).toMatchObject({ status: 'completed' })
    expect(it.requests).toHaveLength(before + 3)
    expect(results(await it.log())).toEqual([
      ['completed', 'asked'],
      ['completed', 'payed'],
      ['completed', 'quick'],
    ])
  })

  test('is cancelled with its run when an input arrives instead of the result', async () => {
    const it = await set({
      script: [{ calls: [give('asker', 'ask')] }, { text: 'something else' }],
      team: { asker: { script: [{ calls: [{ name: 'ask' }] }] } },
    })
    const runId = await it.submit('go', { clientTools })
    await it.settled(runId)
    const next = await it.submit('never mind')
    expect(await it.settled(next)).toMatchObject({ status: 'completed' })
    expect(await it.settled(runId)).toMatchObject({ status: 'cancelled', stopReason: 'superseded' })
    expect(calls(await it.log()).map(({ toolName, status }) => [toolName, status])).toEqual([
      ['delegate_task_to_member', 'cancelled'],
      ['ask', 'cancelled'],
    ])
  })
})
