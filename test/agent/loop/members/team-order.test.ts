import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import type { Message, ToolMessage } from '../../../../functions/domain/messages/message.ts'
import { textOf } from '../../../../functions/domain/messages/message.ts'
import type { ModelRequest } from '../../../../functions/domain/model-request.ts'
import { weighMessages } from '../../../../functions/log/request/token-weight.ts'
import type { RunLog } from '../../../../functions/ports/run-log.ts'
import type { Ports } from '../../../../functions/runtime/program.ts'
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

const give = (member: string, task: string) => ({
  id: `to-${member}`,
  name: 'delegate_task_to_member',
  arguments: JSON.stringify({ member, task }),
})
const calls = (messages: readonly Message[]): ToolMessage[] => messages.filter((one) => one.role === 'tool')
const asked = ({ requests }: Harness, task: string): ModelRequest[] =>
  requests.filter(({ messages }) => textOf(messages[0]?.parts as Message['parts']) === task)
const said = ({ messages }: ModelRequest): string =>
  messages.map(({ parts }) => textOf(parts as Message['parts'])).join('\n')
const withLog = (change: (log: RunLog) => Partial<RunLog>) => (ports: Ports) => ({
  ...ports,
  log: { ...ports.log, ...change(ports.log) },
})

test('members that complete at once are appended to the log one by one, in order of their ids', async () => {
  let storing = 0
  let most = 0
  const it = await set({
    script: [{ calls: [give('one', 'a'), give('other', 'b')] }, { text: 'both' }],
    team: { one: { script: [{ text: 'one' }] }, other: { script: [{ text: 'other' }] } },
    // The first call takes the longest.
    change: withLog((log) => ({
      async appendRound(lease, round, account) {
        most = Math.max(most, ++storing)
        if (round.assistant.parentMessageId !== undefined) await sleep(storing === 1 ? 60 : 1)
        await log.appendRound(lease, round, account)
        storing--
      },
    })),
  })
  expect(await it.settled(await it.submit('go'))).toMatchObject({ status: 'completed' })
  expect(most).toBe(1)
  expect(calls(await it.log()).map(({ status }) => status)).toEqual(['completed', 'completed'])
})

test('a member’s completion is stored after all its results, including results written while another member writes', async () => {
  let slowBegan = false
  let quickEnded = false
  let slowIsStored = false
  const stored: string[] = []
  const late: Turn = async function* () {
    await until(() => quickEnded)
    yield { type: 'completion', completion: completionOf({ text: 'slow' }) }
  }
  const it = await set({
    script: [{ calls: [give('quick', 'a'), give('slow', 'b')] }, { text: 'both' }],
    team: {
      quick: { script: [{ calls: [{ name: 'work', arguments: '{"of":"quick"}' }] }, { text: 'quick' }] },
      slow: { script: [{ calls: [{ name: 'work', arguments: '{"of":"slow"}' }] }, late] },
    },
    tools: [
      makeTool('work', async (input) => {
        // The slow member's call ends after the quick member has requested its last completion.
        if ((input as { of: string }).of === 'slow') await until(() => asked(it, 'a').length === 2)
        return { text: JSON.stringify(input) }
      }),
    ],
    change: withLog((log) => ({
      async completeCall(lease, result) {
        const text = textOf(result.parts)
        if (text.includes('"quick"')) await until(() => slowBegan)
        if (text.includes('"slow"')) {
          slowBegan = true
          await until(() => quickEnded)
          await sleep(100)
          slowIsStored = true
        }
        return log.completeCall(lease, result)
      },
      async appendRound(lease, round, account) {
        const { agent, toolCalls } = round.assistant
        if (agent === 'slow' && toolCalls.length === 0) stored.push(slowIsStored ? 'after its result' : 'before')
        await log.appendRound(lease, round, account)
        if (agent === 'quick' && toolCalls.length === 0) quickEnded = true
      },
    })),
  })
  expect(await it.settled(await it.submit('go'))).toMatchObject({ status: 'completed' })
  expect(stored).toEqual(['after its result'])
})

test('a delegate call of a truncated completion is not executed', async () => {
  const cutOff: Turn = async function* () {
    const completion = completionOf({ calls: [give('member', 'a')] })
    yield { type: 'completion', completion: { ...completion, finishReason: 'length' } }
  }
  const it = await set({ script: [cutOff, { text: 'well' }], team: { member: { script: [{ text: 'done' }] } } })
  expect(await it.settled(await it.submit('go'))).toMatchObject({ status: 'completed' })
  expect(asked(it, 'a')).toEqual([])
  const log = await it.log()
  expect(log.map(({ agent }) => agent)).not.toContain('member')
  expect(calls(log)).toMatchObject([{ status: 'error', parts: [{ text: expect.stringContaining('cut off') }] }])
})

test('a steered input goes to the leader of the run, not to members', async () => {
  let joined = false
  const it = await set({
    script: [{ calls: [give('member', 'a')] }, { text: 'done' }],
    team: { member: { script: [{ calls: [{ name: 'work' }] }, { text: 'worked' }] } },
    tools: [
      makeTool('work', async () => {
        await until(() => joined)
        return { text: 'ok' }
      }),
    ],
  })
  const runId = await it.submit('go')
  await until(() => asked(it, 'a').length === 1)
  await it.submit('be quick', { onBusy: 'steer' })
  joined = true
  expect(await it.settled(runId)).toMatchObject({ status: 'completed' })
  expect(asked(it, 'a')).toHaveLength(2)
  for (const request of asked(it, 'a')) expect(said(request)).not.toContain('be quick')
  expect(said(it.requests.at(-1) as ModelRequest)).toContain('be quick')
  const steered = (await it.log()).filter(({ role }) => role === 'user').at(-1)
  expect(steered?.parentMessageId).toBeUndefined()
})

test("`ended` resolves to undefined for a run with messages of members, and to the run's messages otherwise", async () => {
  const it = await set({
    script: [{ calls: [give('member', 'a')] }, { text: 'done' }, { text: 'alone' }],
    team: { member: { script: [{ text: 'worked' }] } },
  })
  const submit = async (text: string) =>
    it.service.submit(it.session, { parts: [{ type: 'text', text }], clientTools: [] }, { here: true })
  expect(await (await submit('go')).ended).toBeUndefined()
  expect((await (await submit('alone')).ended)?.messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
})

test("decisions for a member's requests are kept until the member ends, also when other members have decisions", async () => {
  const result = 'one two three four five six seven eight nine ten '.repeat(20)
  let firstEnded = false
  const recorded: string[][] = []
  /** Calls a tool in `rounds` rounds, and waits for the other member in round `waits`. */
  const looking = (rounds: number, waits?: number): Turn[] => [
    ...Array.from(
      { length: rounds },
      (_, round): Turn =>
        async function* (request) {
          if (round === waits) await until(() => firstEnded)
          const inputTokens = weighMessages(request.messages) + 40 * request.tools.length
          yield { type: 'completion', completion: completionOf({ calls: [{ name: 'look' }], inputTokens }) }
        },
    ),
    { text: 'seen' },
  ]
  const policies = { contextTokens: 3_000, maxRounds: 60 } as const
  const it = await set({
    script: [{ calls: [give('first', 'a'), give('second', 'b')] }, { text: 'done' }],
    team: { first: { script: looking(20), policies }, second: { script: looking(50, 20), policies } },
    tools: [makeTool('look', async () => ({ text: result }))],
    change: withLog((log) => ({
      async recordDecision(lease, decision) {
        await log.recordDecision(lease, decision)
        recorded.push(Object.keys(decision.context?.members ?? {}))
      },
      async completeCall(lease, one) {
        const row = await log.completeCall(lease, one)
        if (row.toolCallId === 'to-first') firstEnded = true
        return row
      },
    })),
  })
  expect(await it.settled(await it.submit('go'))).toMatchObject({ status: 'completed' })
  const [first, second] = calls(await it.log()).map(({ id }) => id)
  const both = recorded.findIndex((members) => members.length === 2)
  const alone = recorded.findLastIndex((members) => members.length === 2) + 1
  expect(both).toBeGreaterThan(0)
  expect(new Set(recorded.slice(both, alone).flat())).toEqual(new Set([first, second]))
  expect(recorded.slice(both, alone).every((members) => members.length === 2)).toBe(true)
  expect(recorded.slice(alone).length).toBeGreaterThan(0)
  expect(recorded.slice(alone).every((members) => members.length === 1 && members[0] === second)).toBe(true)
})
