/* Evidence, limits: No person is asked about a call whose arguments do not fit the schema. Checking arguments takes bounded
 * time. */
import { afterEach, describe, expect, test } from 'vitest'
import type { Message } from '../../../functions/domain/messages/message.ts'
import { makeTool, openHarness, withSlowResults } from '../harness.ts'
import type { Harness } from '../harness.ts'
import { until } from '../../eventually.ts'

let harness: Harness | undefined
afterEach(async () => {
  await harness?.close()
  harness = undefined
})
const set = async (options: Parameters<typeof openHarness>[0]): Promise<Harness> =>
  (harness = await openHarness(options))
const echo = makeTool('echo', async (input) => ({ text: JSON.stringify(input) }))
const clientTools = [{ name: 'ask', description: 'asks the caller', parameters: { type: 'object' } }]
const here = { here: true }
const text = (value: string) => [{ type: 'text', text: value }] as const
const statuses = (messages: readonly Message[]) =>
  messages.flatMap((message) => (message.role === 'tool' ? [message.status] : []))

describe('a client tool', () => {
  test('pauses the run once the other calls have ended; the result resumes the run exactly once', async () => {
    const { submit, settled, service, requests, log, session } = await set({
      script: [
        {
          calls: [
            { id: 'a', name: 'ask' },
            { id: 'b', name: 'echo' },
          ],
        },
        { text: 'thanks' },
      ],
      tools: [echo],
    })
    const runId = await submit('go', { clientTools })
    expect(await settled(runId)).toMatchObject({ status: 'paused' })
    expect(statuses(await log())).toEqual(['waiting', 'completed'])
    await expect(service.continue(session, {}, here)).rejects.toMatchObject({ code: 'nothing_to_continue' })
    const send = () => service.resolve(session, runId, [{ toolCallId: 'a', output: text('42') }], here)
    await Promise.all([send(), send(), send()])
    expect(await settled(runId)).toMatchObject({ status: 'completed' })
    expect(requests).toHaveLength(2)
    await send()
    await expect(
      service.resolve(session, runId, [{ toolCallId: 'a', output: text('43') }], here),
    ).rejects.toMatchObject({
      code: 'resolution_conflict',
    })
  })

  test('whose result arrives while other calls are executing does not pause the run', async () => {
    let release = (): void => undefined
    const slow = makeTool('slow', () => new Promise((resolve) => (release = () => resolve({ text: 'slow' }))))
    const { submit, settled, service, events, log, session } = await set({
      script: [
        {
          calls: [
            { id: 'a', name: 'ask' },
            { id: 'b', name: 'slow' },
          ],
        },
        { text: 'ok' },
      ],
      tools: [slow],
    })
    const runId = await submit('go', { clientTools })
    await until(async () => statuses(await log()).includes('waiting'))
    await service.resolve(session, runId, [{ toolCallId: 'a', output: text('now') }], here)
    release()
    expect(await settled(runId)).toMatchObject({ status: 'completed' })
    expect(events.some((event) => event.type === 'run.paused')).toBe(false)
  })

  test('is closed as cancelled by an input that arrives during the pause, and this input runs', async () => {
    const { submit, settled, ports, key, log } = await set({ script: [{ calls: [{ name: 'ask' }] }, { text: 'new' }] })
    const first = await submit('go', { clientTools })
    await settled(first)
    const second = await submit('never mind')
    expect(await settled(second)).toMatchObject({ status: 'completed' })
    expect(await ports.reader.run(key, first)).toMatchObject({ status: 'cancelled', stopReason: 'superseded' })
    expect(statuses(await log())).toEqual(['cancelled'])
  })
})

describe('a tool that needs approval', () => {
  const careful = (ran: string[]) =>
    makeTool('careful', async () => ({ text: String(ran.push('ran')) }), { needsApproval: true })

  test('requests no approval if its arguments violate the schema', async () => {
    const ran: string[] = []
    const tool = { ...careful(ran), check: (input: unknown) => (input === 7 ? 'too odd' : undefined) }
    const { submit, settled, log } = await set({
      script: [
        {
          calls: [
            { name: 'careful', arguments: '7' },
            { name: 'careful', arguments: '{' },
          ],
        },
        { text: 'ok' },
      ],
      tools: [tool],
    })
    expect(await settled(await submit('go'))).toMatchObject({ status: 'completed' })
    expect((await log()).filter((message) => message.role === 'tool')).toMatchObject([
      { status: 'error', parts: [{ text: 'error: too odd' }] },
      { status: 'error', parts: [{ text: expect.stringMatching(/not valid JSON/) }] },
    ])
    expect(ran).toEqual([])
  })

  test('without a check of its own neither requests approval nor runs if its arguments violate the schema', async () => {
    const ran: string[] = []
    const tool = { ...careful(ran), parameters: { type: 'object', required: ['amount'] } }
    const script = [{ calls: [{ name: 'careful', arguments: '{}' }] }, { text: 'ok' }]
    const { submit, settled, log } = await set({ script, tools: [tool] })
    expect(await settled(await submit('go'))).toMatchObject({ status: 'completed' })
    const reason = expect.stringMatching(/^error: the arguments do not fit .*amount/s) as string
    expect((await log()).filter((message) => message.role === 'tool')).toMatchObject([
      { status: 'error', parts: [{ text: reason }] },
    ])
    expect(ran).toEqual([])
  })

  test('runs only after it was approved', async () => {
    const ran: string[] = []
    const { submit, settled, service, log, session, events } = await set({
      script: [{ calls: [{ id: 'a', name: 'careful' }] }, { text: 'ok' }],
      tools: [careful(ran)],
    })
    const runId = await submit('go')
    expect(await settled(runId)).toMatchObject({ status: 'paused' })
    expect(ran).toEqual([])
    await service.resolve(session, runId, [{ toolCallId: 'a', approve: true }], here)
    expect(await settled(runId)).toMatchObject({ status: 'completed' })
    expect(ran).toEqual(['ran'])
    expect(statuses(await log())).toEqual(['completed'])
    expect(events.filter(({ type }) => type === 'tool_call.completed')).toHaveLength(1)
  })

  test('fails without a request for approval if its arguments are not JSON, and the model can correct them', async () => {
    const ran: string[] = []
    const { submit, settled, log } = await set({
      script: [{ calls: [{ id: 'a', name: 'careful', arguments: '{"path": ' }] }, { text: 'ok' }],
      tools: [careful(ran)],
    })
    expect(await settled(await submit('go'))).toMatchObject({ status: 'completed' })
    expect(ran).toEqual([])
    expect(statuses(await log())).toEqual(['error'])
  })

  test('never runs when it was denied, and the model sees the denial', async () => {
    const ran: string[] = []
    const { submit, settled, service, requests, session } = await set({
      script: [{ calls: [{ id: 'a', name: 'careful' }] }, { text: 'ok' }],
      tools: [careful(ran)],
    })
    const runId = await submit('go')
    await settled(runId)
    await service.resolve(session, runId, [{ toolCallId: 'a', approve: false }], here)
    await settled(runId)
    expect(ran).toEqual([])
    expect(requests[1]?.messages.at(-1)).toMatchObject({
      parts: [{ text: 'denied: the user did not allow this call' }],
    })
  })
})

test('a tool that the agent does not list is unknown and requests no approval', async () => {
  const careful = makeTool('careful', async () => ({ text: 'ran' }), { needsApproval: true })
  const script = [{ calls: [{ name: 'careful' }] }, { text: 'ok' }]
  const { submit, settled, requests } = await set({ script, tools: [careful], listed: [] })
  expect(await settled(await submit('go'))).toMatchObject({ status: 'completed' })
  expect(JSON.stringify(requests[1]?.messages.at(-1))).toContain('there is no tool named')
})

test('a run pauses only for calls that still wait, after it has executed the approved calls', async () => {
  let release = (): void => undefined
  const slow = makeTool('slow', () => new Promise((resolve) => (release = () => resolve({ text: 'slow' }))))
  const careful = makeTool('careful', async () => ({ text: 'ran' }), { needsApproval: true })
  const calls = [
    { id: 'a', name: 'ask' },
    { id: 'b', name: 'ask' },
    { id: 'c', name: 'careful' },
    { id: 'd', name: 'slow' },
  ]
  const { submit, settled, service, events, log, session } = await set({
    script: [{ calls }],
    tools: [careful, slow],
  })
  const runId = await submit('go', { clientTools })
  await until(async () => statuses(await log()).includes('waiting'))
  await service.resolve(session, runId, [{ toolCallId: 'a', output: text('now') }], here)
  await service.resolve(session, runId, [{ toolCallId: 'c', approve: true }], here)
  release()
  expect(await settled(runId)).toMatchObject({ status: 'paused' })
  expect(statuses(await log())).toEqual(['completed', 'waiting', 'completed', 'completed'])
  const paused = events.flatMap((event) => (event.type === 'run.paused' ? [event.waiting] : []))
  expect(paused.map((rows) => rows?.map((row) => row.toolCallId))).toEqual([['b']])
})

describe('a busy session', () => {
  const gate = () => {
    const waiting: (() => void)[] = []
    const tool = makeTool('gate', () => new Promise((resolve) => waiting.push(() => resolve({ text: 'open' }))))
    return { tool, open: () => waiting.shift()?.(), isWaiting: () => waiting.length > 0 }
  }

  test('runs further inputs one by one, in the order of their arrival', async () => {
    const { tool, open, isWaiting } = gate()
    const { submit, settled, log } = await set({
      script: [{ calls: [{ name: 'gate' }] }, { text: '1' }, { text: '2' }, { text: '3' }],
      tools: [tool],
    })
    const ids = [await submit('a'), await submit('b'), await submit('c')]
    await until(isWaiting)
    open()
    for (const id of ids) expect(await settled(id)).toMatchObject({ status: 'completed' })
    const users = (await log()).filter((message) => message.role === 'user').map((message) => message.parts)
    expect(users).toMatchObject([[{ text: 'a' }], [{ text: 'b' }], [{ text: 'c' }]])
  })

  test('refuses an input with on_busy `reject`', async () => {
    const { tool, open, isWaiting } = gate()
    const { submit, settled } = await set({ script: [{ calls: [{ name: 'gate' }] }, { text: '1' }], tools: [tool] })
    const first = await submit('a')
    await until(isWaiting)
    await expect(submit('b', { onBusy: 'reject' })).rejects.toMatchObject({ code: 'session_busy' })
    open()
    await settled(first)
  })

  test('inserts a steering input as a user message of the current run, between two rounds', async () => {
    const { tool, open, isWaiting } = gate()
    const { submit, settled, requests, ports, key, events } = await set({
      script: [{ calls: [{ name: 'gate' }] }, { text: 'turned' }],
      tools: [tool],
      change: withSlowResults,
    })
    const first = await submit('a')
    await until(isWaiting)
    const second = await submit('turn left', { onBusy: 'steer' })
    open()
    expect(await settled(second)).toMatchObject({ id: first, status: 'completed' })
    expect(await ports.reader.run(key, second)).toMatchObject({ status: 'merged', mergedInto: first })
    expect(requests[1]?.messages.at(-1)).toMatchObject({ role: 'user', parts: [{ text: 'turn left' }] })
    const reported = events.map(({ type }) => type)
    expect(reported.indexOf('message.steered')).toBeGreaterThan(reported.indexOf('tool_call.completed'))
  })
})

test('a queued input stays behind a steering input and starts its own run', async () => {
  let release = (): void => undefined
  const slow = makeTool('slow', () => new Promise((resolve) => (release = () => resolve({ text: 'slow' }))))
  const { submit, settled, requests } = await set({
    script: [{ calls: [{ name: 'slow' }] }, { text: 'left' }, { text: 'b' }],
    tools: [slow],
  })
  await submit('a')
  await until(() => requests.length === 1)
  const queued = await submit('b')
  await submit('turn left', { onBusy: 'steer' })
  release()
  expect(await settled(queued)).toMatchObject({ status: 'completed', rounds: 1 })
  expect(requests.map((request) => request.messages.filter(({ role }) => role === 'user').length)).toEqual([1, 2, 3])
  expect(requests[1]?.messages.at(-1)).toMatchObject({ parts: [{ text: 'turn left' }] })
})

test('a session that is due without work is no longer due after one check', async () => {
  const { ports, worker, key } = await set({ script: [] })
  const input = { parts: text('never mind') }
  const run = { agent: 'default', trigger: 'input', onBusy: 'queue', input, clientTools: [] } as const
  const { runId } = await ports.inbox.enqueue(key, run)
  await ports.inbox.cancel(key, runId)
  expect((await ports.lease.readHeader(key))?.due).toBeDefined()
  await worker.serve(key)
  expect((await ports.lease.readHeader(key))?.due).toBeUndefined()
})

test('a stopping process hands its run off between two rounds, and another one resumes it', async () => {
  let open = (): void => undefined
  const gate = makeTool('gate', () => new Promise((resolve) => (open = () => resolve({ text: 'open' }))))
  const first = await set({ script: [{ calls: [{ name: 'gate' }] }], tools: [gate] })
  const runId = await first.submit('go')
  await until(async () => statuses(await first.log()).includes('running'))
  const stopped = first.worker.stop()
  open()
  await stopped
  const second = first.another([{ text: 'done by the other' }])
  await second.worker.serve(second.key)
  expect(await second.settled(runId)).toMatchObject({ status: 'completed', rounds: 2 })
})
