/* Evidence, api: Late followers get pauses, resumptions and steered inputs with the ids of the live events. */
import { afterEach, describe, expect, test } from 'vitest'
import { definedFields } from '../../../functions/domain/defined-fields.ts'
import { followRun } from '../../../functions/agent/events/follow-run.ts'
import { createEventBus } from '../../../functions/agent/events/event-bus.ts'
import type { RunEvent, StoredEvent } from '../../../functions/domain/events.ts'
import { makeTool, openHarness } from '../harness.ts'
import type { Harness } from '../harness.ts'
import { HANG_TIMEOUT_MS, until } from '../../eventually.ts'

let harness: Harness | undefined
afterEach(async () => {
  await harness?.close()
  harness = undefined
})

const here = { here: true }
const clientTools = [{ name: 'ask', description: 'asks the caller', parameters: { type: 'object' } }]
const text = (value: string) => [{ type: 'text', text: value }] as const
const signal = (): AbortSignal => AbortSignal.timeout(HANG_TIMEOUT_MS)
const careful = makeTool('careful', async () => ({ text: 'ran' }), { needsApproval: true })

async function follow({ service, key }: Harness, runId: string, after?: string): Promise<StoredEvent[]> {
  const events: RunEvent[] = []
  const options = { signal: signal(), ...definedFields({ after }) }
  for await (const event of service.follow(key, runId, options)) events.push(event)
  return events.filter((event) => 'id' in event)
}

/** Plays a run that pauses twice: for a client's result, then for an approval. Returns the live events of its followers. */
async function runOfTwoPauses(): Promise<{ it: Harness; runId: string; live: StoredEvent[] }> {
  const it = await openHarness({
    script: [
      { calls: [{ id: 'a', name: 'ask', arguments: '{"q": 1}' }] },
      { calls: [{ id: 'b', name: 'careful' }], tokens: 20 },
      { text: 'done' },
    ],
    tools: [careful],
  })
  harness = it
  const runId = await it.submit('go', { clientTools })
  const first = await follow(it, runId)
  await it.service.resolve(it.session, runId, [{ toolCallId: 'a', output: text('42') }], here)
  const second = await follow(it, runId, first.at(-1)?.id)
  await it.service.resolve(it.session, runId, [{ toolCallId: 'b', approve: true }], here)
  await until(async () => (await it.ports.reader.run(it.key, runId))?.status === 'completed')
  return { it, runId, live: [...first, ...second] }
}

describe('the pauses of a run', () => {
  test('are emitted in their order to late followers, and do not end the stream of a resumed run', async () => {
    const { it, runId } = await runOfTwoPauses()
    expect((await follow(it, runId)).map(({ type }) => type)).toEqual([
      'run.started',
      'message.completed',
      'tool_call.started',
      'run.paused',
      'tool_call.completed',
      'run.resumed',
      'message.completed',
      'tool_call.started',
      'run.paused',
      'run.resumed',
      'tool_call.completed',
      'message.completed',
      'run.completed',
    ])
  })

  test('have the same ids, calls and counts in the log as in the live stream', async () => {
    const { it, runId, live } = await runOfTwoPauses()
    // Ignores the generations of calls, which each later holder of the run may change.
    const changes = (events: readonly RunEvent[]) =>
      events.flatMap((event) =>
        event.type === 'run.paused' || event.type === 'run.resumed'
          ? [{ ...event, waiting: (event.waiting ?? []).map((call) => ({ ...call, generation: 0 })) }]
          : [],
      )
    const late = changes(await follow(it, runId))
    expect(late).toEqual(changes(it.events))
    for (const one of changes(live)) expect(late).toContainEqual(one)
    expect(changes(live).map(({ type }) => type)).toContain('run.paused')
    expect(late).toMatchObject([
      {
        type: 'run.paused',
        run: { status: 'paused', rounds: 1, usage: { totalTokens: 10 } },
        waiting: [{ toolCallId: 'a', status: 'waiting' }],
      },
      { type: 'run.resumed', run: { status: 'running', rounds: 1 } },
      {
        type: 'run.paused',
        run: { status: 'paused', rounds: 2, usage: { totalTokens: 30 } },
        waiting: [{ toolCallId: 'b' }],
      },
      { type: 'run.resumed', run: { status: 'running', rounds: 2 } },
    ])
    expect(new Set(late.map(({ id }) => id)).size).toBe(4)
  })

  test("have event ids with which a stream can resume, from the start of the pause's round", async () => {
    const { it, runId } = await runOfTwoPauses()
    const all = await follow(it, runId)
    const second = all.findLastIndex(({ type }) => type === 'run.paused')
    const rest = (await follow(it, runId, all[second]?.id)).map(({ id }) => id)
    // `rest` has the notices at the start of the paused round, and everything after them.
    expect(rest).toEqual([all[3], ...all.slice(5)].map((event) => event?.id))
    const resumed = await follow(it, runId, all[second + 1]?.id)
    expect(resumed.map(({ id }) => id)).toEqual(rest)
  })

  test('are emitted in log order in another process, up to the pause that is still open', async () => {
    const it = await openHarness({
      script: [{ calls: [{ id: 'a', name: 'ask' }] }, { calls: [{ id: 'b', name: 'ask' }] }],
    })
    harness = it
    const runId = await it.submit('go', { clientTools })
    await it.settled(runId)
    const seen: string[] = []
    const { reader, lease } = it.ports
    const other = { reader, lease, worker: { isServing: () => false }, bus: createEventBus() }
    await it.service.resolve(it.session, runId, [{ toolCallId: 'a', output: text('42') }], here)
    for await (const event of followRun(other, it.key, runId, { signal: signal() }))
      if ('id' in event) seen.push(event.type)
    expect(seen.filter((type) => type.startsWith('run.'))).toEqual([
      'run.started',
      'run.paused',
      'run.resumed',
      'run.paused',
    ])
    expect((await follow(it, runId)).map(({ type }) => type)).toEqual(seen)
  })
})

describe('a steered message', () => {
  test('is an event of the run that received it, live and for late followers', async () => {
    let release = (): void => undefined
    const slow = makeTool('slow', () => new Promise((resolve) => (release = () => resolve({ text: 'slow' }))))
    const it = await openHarness({
      script: [{ calls: [{ name: 'slow' }] }, { text: 'ok' }],
      tools: [slow],
    })
    harness = it
    const runId = await it.submit('go')
    await until(async () => (await it.log()).some(({ role }) => role === 'tool'))
    const steered = await it.submit('mind the gap', { onBusy: 'steer' })
    release()
    await it.settled(runId)
    const late = await follow(it, runId)
    expect(late.map(({ type }) => type)).toEqual([
      'run.started',
      'message.completed',
      'tool_call.started',
      'tool_call.completed',
      'message.steered',
      'message.completed',
      'run.completed',
    ])
    const [event] = late.filter(({ type }) => type === 'message.steered')
    expect(event).toMatchObject({ runId, message: { role: 'user', parts: [{ text: 'mind the gap' }] } })
    expect(it.events.filter(({ type }) => type === 'message.steered')).toEqual([event])
    expect((await follow(it, steered)).map(({ id }) => id)).toEqual(late.map(({ id }) => id))
    expect((await follow(it, runId, event?.id)).map(({ type }) => type)).toEqual([
      'message.steered',
      'message.completed',
      'run.completed',
    ])
  })
})
