/* Evidence, api: A client that resumes after any event of a run gets every later event once and in order. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import type { RunEvent } from '../../../functions/domain/events.ts'
import { NO_USAGE } from '../../../functions/domain/usage/usage.ts'
import { ModelError } from '../../../functions/ports/model.ts'
import { HANG_TIMEOUT_MS, until } from '../../eventually.ts'
import { makeTool, openHarness } from '../harness.ts'
import type { Harness } from '../harness.ts'

let harness: Harness
let gate = Promise.withResolvers<void>()
beforeEach(() => void (gate = Promise.withResolvers<void>()))
afterEach(() => harness.close())

const echo = makeTool('echo', async () => ({ text: 'result' }))
const slow = makeTool('slow', async () => {
  await gate.promise
  return { text: 'slow result' }
})
const clientTools = [{ name: 'ask', description: 'asks the client', parameters: { type: 'object' } }]

async function follow(
  { service, key }: Pick<Harness, 'service' | 'key'>,
  runId: string,
  { after, seen = [] }: { readonly after?: string | undefined; readonly seen?: RunEvent[] } = {},
): Promise<string[]> {
  const signal = AbortSignal.timeout(HANG_TIMEOUT_MS)
  const options = after === undefined ? { signal } : { signal, after }
  for await (const event of service.follow(key, runId, options)) seen.push(event)
  return idsOf(seen)
}
const idsOf = (events: readonly RunEvent[]): string[] => events.flatMap((event) => ('id' in event ? [event.id] : []))

/** Returns the ids of the events up to the first of this type. The follower then disconnects. */
async function idsUpTo(runId: string, type: RunEvent['type']): Promise<string[]> {
  const seen: RunEvent[] = []
  const leave = new AbortController()
  for await (const event of harness.service.follow(harness.key, runId, { signal: leave.signal })) {
    seen.push(event)
    if (event.type === type) leave.abort()
  }
  return idsOf(seen)
}

/** Expects that a follower that has seen these ids gets all other events, in order, when it resumes. */
async function expectResume(runId: string, seen: readonly string[]): Promise<void> {
  const rest = await follow(harness, runId, { after: seen.at(-1) })
  expect([...seen, ...rest.filter((id) => !seen.includes(id))]).toEqual(await follow(harness, runId))
}

test('a follower that resumes after `run.queued` gets every round of the run', async () => {
  harness = await openHarness({
    tools: [echo],
    script: [
      async function* () {
        await gate.promise
        const completion = { parts: [], toolCalls: [], model: 'script/ed', finishReason: 'stop', usage: NO_USAGE }
        yield { type: 'completion', completion }
      },
      { text: 'first', calls: [{ name: 'echo' }] },
      { text: 'second', calls: [{ name: 'echo' }] },
      { text: 'last' },
    ],
  })
  const first = await harness.submit('one')
  const second = await harness.submit('two')
  const seen = await idsUpTo(second, 'run.queued')
  expect(seen).toEqual([`${second}:run.queued`])
  gate.resolve()
  await harness.settled(first)
  await harness.settled(second)
  await expectResume(second, seen)
})

test('a follower that resumes after `run.started` of a run without an input gets every round', async () => {
  harness = await openHarness({
    tools: [echo],
    script: [
      async function* () {
        yield* []
        throw new ModelError('invalid_request', 'no', { retryable: false })
      },
      { text: 'first', calls: [{ name: 'echo' }] },
      { text: 'last' },
    ],
  })
  await harness.settled(await harness.submit('one'))
  const { runId } = await harness.service.continue(harness.session, {}, { here: true })
  await harness.settled(runId)
  await expectResume(runId, [`${runId}:run.started`])
})

test("a follower that resumes after a warning within a round gets the ends of the round's calls", async () => {
  const faulty = makeTool('faulty', async () => ({ text: 'found', sources: [{ url: 'https://example.com' }] as never }))
  const calls = [
    { name: 'slow', id: 'a' },
    { name: 'faulty', id: 'b' },
  ]
  harness = await openHarness({ tools: [faulty, slow], script: [{ calls }, { text: 'done' }] })
  const runId = await harness.submit('go')
  const seen = await idsUpTo(runId, 'warning')
  gate.resolve()
  await harness.settled(runId)
  await expectResume(runId, seen)
})

test('the end of a delegate call comes before a steered input that joined after it', async () => {
  const task = JSON.stringify({ member: 'helper', task: 'look' })
  harness = await openHarness({
    tools: [slow],
    team: {
      helper: { script: [{ text: 'I look', calls: [{ name: 'slow' }] }, { text: 'found it' }], tools: ['slow'] },
    },
    script: [{ calls: [{ name: 'delegate_task_to_member', arguments: task }] }, { text: 'all of it' }],
  })
  const runId = await harness.submit('one')
  await until(async () => (await harness.log()).some((one) => one.role === 'tool' && one.toolName === 'slow'))
  await harness.submit('two', { onBusy: 'steer' })
  gate.resolve()
  await harness.settled(runId)
  const all = await follow(harness, runId)
  const steered = all.findIndex((id) => id.endsWith(':message.steered'))
  expect(all[steered - 1]).toContain(':tool_call.completed')
  await expectResume(runId, all.slice(0, steered + 1))
})

test.each([
  ['result of a client tool', 'ask', { output: [{ type: 'text', text: 'mine' }] }],
  ['denial', 'careful', { approve: false }],
] as const)(
  'live and late followers get the %s for a call, although another call of the round is running',
  async (_what, name, given) => {
    const careful = makeTool('careful', async () => ({ text: 'done' }), { needsApproval: true })
    const calls = [
      { name: 'slow', id: 'a' },
      { name, id: 'b' },
    ]
    harness = await openHarness({ tools: [slow, careful], script: [{ calls }, { text: 'done' }] })
    const runId = await harness.submit('go', { clientTools })
    const seen: RunEvent[] = []
    const following = follow(harness, runId, { seen })
    await until(() => seen.filter(({ type }) => type === 'tool_call.started').length === 2)
    await harness.service.resolve(harness.session, runId, [{ toolCallId: 'b', ...given }], { here: true })
    gate.resolve()
    const live = await following
    expect(seen.at(-1)?.type).toBe('run.completed')
    expect(live).toEqual(await follow(harness, runId))
    expect(live.filter((id) => id.endsWith(':tool_call.completed'))).toHaveLength(2)
  },
)

test('calls that end out of order have the same event order live and in the log', async () => {
  const calls = [
    { name: 'slow', id: 'a' },
    { name: 'echo', id: 'b' },
  ]
  harness = await openHarness({ tools: [slow, echo], script: [{ calls }, { text: 'done' }] })
  const runId = await harness.submit('go')
  const seen: RunEvent[] = []
  const following = follow(harness, runId, { seen })
  await until(() => seen.some(({ type }) => type === 'tool_call.completed'))
  gate.resolve()
  const live = await following
  const ended = seen.flatMap((event) => (event.type === 'tool_call.completed' ? [event.message.toolCallId] : []))
  expect(ended).toEqual(['b', 'a'])
  expect(await follow(harness, runId)).toEqual(live)
})

test('a follower in the process that continues a run gets the last writes of the former holder', async () => {
  harness = await openHarness({ tools: [slow], script: [{ text: 'I look', calls: [{ name: 'slow' }] }] })
  const other = harness.another([{ text: 'the answer' }])
  const runId = await harness.submit('go')
  const seen: RunEvent[] = []
  const following = follow(other, runId, { seen })
  await until(() => seen.some(({ type }) => type === 'tool_call.started'))
  const left = harness.worker.handOff()
  gate.resolve()
  await left
  await other.worker.serve(harness.key)
  expect(await following).toEqual(await follow(harness, runId))
})

test('late followers of a run that was cancelled in the queue get its `run.queued` event', async () => {
  harness = await openHarness({ tools: [slow], script: [{ calls: [{ name: 'slow' }] }, { text: 'done' }] })
  await harness.submit('one')
  const second = await harness.submit('two')
  const seen = await idsUpTo(second, 'run.queued')
  await harness.service.cancel(harness.key, second)
  gate.resolve()
  expect(await follow(harness, second)).toEqual([...seen, `${second}:run.cancelled`])
})

test('two `run.resumed` events of a run have different ids, even without a message between them', async () => {
  let ahead = 0
  const clock = { ...createSystemClock(), now: () => Date.now() + ahead }
  const lost = makeTool('lost', async (_input, { signal }) => {
    ahead = 51_000
    await clock.sleep(10_000, signal)
    return { text: 'too late' }
  })
  const calls = [{ id: 'a', name: 'ask' }, { name: 'lost' }]
  harness = await openHarness({ clock, tools: [lost], script: [{ calls }, { text: 'done' }] })
  const runId = await harness.submit('go', { clientTools })
  await harness.worker.idle()
  ahead = 61_000
  await harness.worker.serve(harness.key)
  const live = await follow(harness, runId)
  const output = [{ type: 'text', text: '42' }] as const
  await harness.service.resolve(harness.session, runId, [{ toolCallId: 'a', output }], { here: true })
  const rest = await follow(harness, runId, { after: live.at(-1) })
  const whole = await follow(harness, runId)
  expect([...live, ...rest.filter((id) => !live.includes(id))]).toEqual(whole)
  const [, asked, ask, lostCall, answer] = (await harness.log()).map(({ id }) => id)
  expect(whole.slice(whole.indexOf(`${lostCall}:tool_call.started`) + 1)).toEqual([
    `${lostCall}:run.resumed`,
    `${lostCall}:tool_call.completed`,
    `${asked}:run.paused`,
    `${ask}:tool_call.completed`,
    `${lostCall}:run.resumed:1`,
    `${answer}:message.completed`,
    `${runId}:run.completed`,
  ])
  for (const place of whole.keys()) await expectResume(runId, whole.slice(0, place + 1))
})
