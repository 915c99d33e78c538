/* Evidence, durability: After a crash, a member continues from its own messages. A member that has ended is not asked again. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createSystemClock } from '../../../../functions/adapters/memory/system-clock.ts'
import { nextIds } from '../../../../functions/domain/ids.ts'
import { textOf } from '../../../../functions/domain/messages/message.ts'
import type { Policies } from '../../../../functions/domain/agent.ts'
import type {
  AssistantMessage,
  Message,
  ToolMessage,
  UserMessage,
} from '../../../../functions/domain/messages/message.ts'
import type { Lease } from '../../../../functions/domain/session.ts'
import { NO_USAGE } from '../../../../functions/domain/usage/usage.ts'
import type { Turn } from '../../harness.ts'
import { makeTool, openHarness } from '../../harness.ts'
import type { Harness } from '../../harness.ts'

let harness: Harness | undefined
let ahead = 0
const clock = { ...createSystemClock(), now: () => Date.now() + ahead }
beforeEach(() => {
  ahead = 0
})
afterEach(async () => {
  await harness?.close()
  harness = undefined
})

const TASK = JSON.stringify({ member: 'lead', task: 'do it' })
const SUBTASK = JSON.stringify({ member: 'hand', task: 'do a part of it' })
const DELEGATE = 'delegate_task_to_member'

interface Left {
  readonly runId: string
  readonly lease: Lease
  head: string | undefined
}
type Call = readonly [name: string, input: string]

/** Acts as a process that starts a run and is then killed. Returns the state that remains after this process. */
async function leftBehind({ ports, key }: Harness): Promise<Left> {
  const input = { parts: [{ type: 'text', text: 'go' } as const] }
  const run = { agent: 'default', trigger: 'input', onBusy: 'queue', input, clientTools: [], startAs: 'dead' } as const
  const { runId, started } = await ports.inbox.enqueue(key, run)
  if (started === undefined) throw new Error('the session was not idle')
  return { runId, lease: started.lease, head: started.lease.head }
}

/** Stores a round of an agent; `of`: the delegate call that the agent works for. Returns its rows. */
async function storeRound(
  { ports }: Harness,
  left: Left,
  agent: string,
  round: number,
  calls: readonly Call[],
  of?: ToolMessage,
  tokens?: number,
): Promise<ToolMessage[]> {
  const [id = '', ...rowIds] = nextIds(left.head, clock.now(), calls.length + 1)
  const parent = of === undefined ? {} : { parentToolCallId: of.toolCallId, parentMessageId: of.id }
  const base = { runId: left.runId, agent, ...parent, round, createdAt: clock.now() }
  const toolCalls = calls.map(([name, input], place) => ({ id: `${name}-${place}`, name, arguments: input }))
  const parts: AssistantMessage['parts'] =
    calls.length === 0
      ? [{ type: 'text', text: `${agent} is done` }]
      : toolCalls.map((call) => ({ type: 'tool_call', id: call.id }))
  const tools = toolCalls.map((call, sequence): ToolMessage => ({
    ...base,
    id: rowIds[sequence] ?? '',
    role: 'tool',
    assistantMessageId: id,
    toolCallId: call.id,
    toolName: call.name,
    call: `${call.name}()`,
    sequence,
    status: 'running',
    parts: [],
    generation: left.lease.generation,
  }))
  const usage = tokens === undefined ? {} : { usage: { ...NO_USAGE, totalTokens: tokens } }
  await ports.log.appendRound(left.lease, {
    assistant: { ...base, id, role: 'assistant', parts, toolCalls, ...usage },
    tools,
  })
  left.head = tools.at(-1)?.id ?? id
  return tools
}

async function storeTask({ ports }: Harness, left: Left, agent: string, of: ToolMessage): Promise<void> {
  const [id = ''] = nextIds(left.head, clock.now(), 1)
  const { task } = JSON.parse(agent === 'lead' ? TASK : SUBTASK) as { task: string }
  const names = { runId: left.runId, agent, parentToolCallId: of.toolCallId, parentMessageId: of.id }
  const parts = [{ type: 'text', text: task }] as const
  const message: UserMessage = { id, role: 'user', ...names, round: 0, createdAt: clock.now(), parts }
  await ports.log.append(left.lease, [message])
  left.head = id
}

const says = (said: string): Turn[] => Array.from({ length: 3 }, () => ({ text: said }))
const paid: string[] = []
const pay = makeTool('pay', async () => ({ text: String(paid.push('pay')) }))
const look = makeTool('look', async () => ({ text: 'seen' }), { idempotent: true })

async function open(script: readonly Turn[] = says('all done'), policies: Partial<Policies> = {}): Promise<Harness> {
  paid.length = 0
  const team = { lead: { script: says('led'), members: ['hand'] }, hand: { script: says('handed') } }
  return (harness = await openHarness({ script, team, tools: [pay, look], policies, clock }))
}

/** Continues the run with the next holder. Returns the log and the number of requests to each model. */
async function takenOver(it: Harness, { runId }: Left): Promise<{ log: readonly Message[]; asked: string[] }> {
  ahead += 61_000
  await it.worker.serve(it.key)
  expect(await it.settled(runId)).toMatchObject({ status: 'completed', stopReason: 'answer' })
  const log = await it.log()
  expect(log.map(({ id }) => id)).toEqual(log.map(({ id }) => id).toSorted())
  const asked = it.requests.map(({ messages }) => textOf(messages[0]?.parts as Message['parts']))
  return { log, asked: asked.map((task) => ({ go: 'default', 'do it': 'lead' })[task] ?? 'hand') }
}

const results = (log: readonly Message[]): [string, string, string][] =>
  log.flatMap((one) =>
    one.role === 'tool' ? [[one.toolName, one.status, textOf(one.parts)] as [string, string, string]] : [],
  )

test('a member without a stored task receives the task of its delegate call after a takeover', async () => {
  const it = await open()
  const left = await leftBehind(it)
  await storeRound(it, left, 'default', 0, [[DELEGATE, TASK]])
  const { log, asked } = await takenOver(it, left)
  expect(asked).toEqual(['lead', 'default'])
  expect(results(log)).toEqual([[DELEGATE, 'completed', 'led']])
})

test('a member resumes from its part of the log; only calls that must not repeat are interrupted', async () => {
  const it = await open()
  const left = await leftBehind(it)
  const [call] = await storeRound(it, left, 'default', 0, [
    [DELEGATE, TASK],
    ['pay', '{}'],
  ])
  if (call === undefined) throw new Error('no call')
  await storeTask(it, left, 'lead', call)
  const [below] = await storeRound(
    it,
    left,
    'lead',
    0,
    [
      [DELEGATE, SUBTASK],
      ['look', '{}'],
    ],
    call,
  )
  if (below === undefined) throw new Error('no call')
  await storeTask(it, left, 'hand', below)
  await storeRound(
    it,
    left,
    'hand',
    0,
    [
      ['pay', '{}'],
      ['look', '{}'],
    ],
    below,
  )
  const { log, asked } = await takenOver(it, left)
  expect(asked).toEqual(['hand', 'lead', 'default'])
  expect(paid).toEqual([])
  const interrupted = 'interrupted: this call may or may not have run'
  expect(results(log)).toEqual([
    [DELEGATE, 'completed', 'led'],
    ['pay', 'interrupted', interrupted],
    [DELEGATE, 'completed', 'handed'],
    ['look', 'completed', 'seen'],
    ['pay', 'interrupted', interrupted],
    ['look', 'completed', 'seen'],
  ])
  expect(it.requests[0]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool'])
  expect(log.findLast(({ agent }) => agent === 'hand')).toMatchObject({ round: 1 })
})

test('an ended member is not asked again', async () => {
  const it = await open()
  const left = await leftBehind(it)
  const [call] = await storeRound(it, left, 'default', 0, [[DELEGATE, TASK]])
  if (call === undefined) throw new Error('no call')
  await storeTask(it, left, 'lead', call)
  const [looked] = await storeRound(it, left, 'lead', 0, [['look', '{}']], call)
  const result = { status: 'completed', parts: [], completedAt: clock.now(), durationMs: 0 } as const
  await it.ports.log.completeCall(left.lease, { messageId: looked?.id ?? '', ...result })
  await storeRound(it, left, 'lead', 1, [], call)
  const { log, asked } = await takenOver(it, left)
  expect(asked).toEqual(['default'])
  expect(results(log)[0]).toEqual([DELEGATE, 'completed', 'lead is done'])
})

test('a member resumes even if its leader no longer lists members', async () => {
  const team = { lead: { script: says('led'), members: ['hand'] }, hand: { script: [], members: ['lead'] } }
  const it = (harness = await openHarness({ script: says('all done'), team, clock }))
  const left = await leftBehind(it)
  const [call] = await storeRound(it, left, 'default', 0, [[DELEGATE, TASK]])
  if (call === undefined) throw new Error('no call')
  await storeTask(it, left, 'lead', call)
  const { log, asked } = await takenOver(it, left)
  expect(asked).toEqual(['lead', 'default'])
  expect(results(log)).toEqual([[DELEGATE, 'completed', 'led']])
})

test.each([
  ['lead', 100, 'budget', 'none'],
  // A member may be named `summary`, the name under which the usage of summaries is counted.
  ['summary', 60, 'answer', 'auto'],
] as const)(
  'each holder counts the usage of ended members once towards the run’s budget: %s, %i of 100',
  async (member, tokens, stopReason, toolChoice) => {
    const it = await open(says('no more'), { maxRunTokens: 100 })
    const left = await leftBehind(it)
    const [call] = await storeRound(it, left, 'default', 0, [[DELEGATE, TASK]])
    if (call === undefined) throw new Error('no call')
    await storeTask(it, left, member, call)
    await storeRound(it, left, member, 0, [], call, tokens)
    const parts = [{ type: 'text', text: 'lead is done' }] as const
    const result = { status: 'completed', parts, completedAt: clock.now(), durationMs: 0 } as const
    await it.ports.log.completeCall(left.lease, { messageId: call.id, ...result })
    ahead += 61_000
    await it.worker.serve(it.key)
    expect(await it.settled(left.runId)).toMatchObject({ status: 'completed', stopReason })
    expect(it.requests.map((request) => request.toolChoice)).toEqual([toolChoice])
  },
)

test('a run is handed off while its members work, and the members resume in the next process', async () => {
  const it = await open()
  let entered = (): void => undefined
  const inside = new Promise<void>((resolve) => (entered = resolve))
  const asks: Turn = async function* (_request, signal) {
    entered()
    yield { type: 'text.delta', part: 0, text: 'h' }
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  }
  const delegates: Turn = { calls: [{ id: 'c', name: DELEGATE, arguments: TASK }] }
  const first = it.another([delegates], { lead: { script: [asks], members: ['hand'] }, hand: { script: [] } })
  const runId = await first.submit('go')
  await inside
  const stopped = first.worker.handOff()
  first.worker.cutOff('shutting_down')
  await stopped
  expect(await it.ports.reader.run(it.key, runId)).toMatchObject({ status: 'running' })
  expect(await it.ports.lease.readHeader(it.key)).toMatchObject({ waiting: 0, paused: false })
  expect((await it.ports.lease.readHeader(it.key))?.lease).toBeUndefined()
  ahead = 0
  await it.worker.serve(it.key)
  expect(await it.settled(runId)).toMatchObject({ status: 'completed' })
  expect(results(await it.log())).toEqual([[DELEGATE, 'completed', 'led']])
})
