import { afterEach, beforeEach, expect, test } from 'vitest'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import { DEFAULT_POLICIES } from '../../../functions/domain/agent.ts'
import { nextIds } from '../../../functions/domain/ids.ts'
import { MAX_ROUND_CALLS } from '../../../functions/domain/messages/message.ts'
import type { ToolMessage } from '../../../functions/domain/messages/message.ts'
import type { Lease } from '../../../functions/domain/session.ts'
import { fitContent } from '../../../functions/log/fit-content.ts'
import { ModelError } from '../../../functions/ports/model.ts'
import { completionOf, makeTool, openHarness } from '../harness.ts'
import type { Harness } from '../harness.ts'
import { HANG_TIMEOUT_MS } from '../../eventually.ts'

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
const set = async (options: Parameters<typeof openHarness>[0]): Promise<Harness> =>
  (harness = await openHarness({ ...options, clock }))

/** Acts as a process that starts a run with these calls and then dies. The lease is not released, and expires later. */
async function leftBehind({ ports, key }: Harness, calls: readonly string[]): Promise<{ lease: Lease; runId: string }> {
  const input = { parts: [{ type: 'text', text: 'go' } as const] }
  const run = { agent: 'default', trigger: 'input', onBusy: 'queue', input, clientTools: [], startAs: 'dead' } as const
  const { runId, started } = await ports.inbox.enqueue(key, run)
  if (started === undefined) throw new Error('the session was not idle')
  const { lease } = started
  const ids = nextIds(lease.head, clock.now(), calls.length + 1)
  const id = (place: number): string => ids[place] ?? ''
  const base = { runId, agent: 'default', round: 0, createdAt: clock.now() }
  const toolCalls = calls.map((name, sequence) => ({ id: `call-${sequence}`, name, arguments: '{}' }))
  const parts = toolCalls.map((call) => ({ type: 'tool_call', id: call.id }) as const)
  const tools = toolCalls.map((call, sequence): ToolMessage => ({
    ...base,
    id: id(sequence + 1),
    role: 'tool',
    assistantMessageId: id(0),
    toolCallId: call.id,
    toolName: call.name,
    call: `${call.name}()`,
    sequence,
    status: 'running',
    parts: [],
    generation: lease.generation,
  }))
  await ports.log.appendRound(lease, {
    assistant: { ...base, id: id(0), role: 'assistant', parts, toolCalls },
    tools: tools.slice(0, MAX_ROUND_CALLS),
  })
  return { lease, runId }
}

test('a call that a crash aborted becomes interrupted and is not executed again, unless its tool is idempotent', async () => {
  const ran: string[] = []
  const tool = (name: string, idempotent: boolean) =>
    makeTool(name, async () => ({ text: String(ran.push(name)) }), { idempotent })
  const it = await set({ script: [{ text: 'done' }], tools: [tool('pay', false), tool('look', true)] })
  const { runId } = await leftBehind(it, ['pay', 'look'])
  await it.worker.serve(it.key)
  expect(it.requests).toHaveLength(0)

  ahead = 61_000
  await it.worker.serve(it.key)

  expect(await it.settled(runId)).toMatchObject({ status: 'completed', rounds: 2 })
  expect(ran).toEqual(['look'])
  expect(it.events.filter(({ type }) => type === 'tool_call.completed')).toHaveLength(2)
  expect(it.requests[0]?.messages.slice(2)).toMatchObject([
    { toolName: 'pay', isError: true, parts: [{ text: 'interrupted: this call may or may not have run' }] },
    { toolName: 'look', isError: false, parts: [{ text: '1' }] },
  ])
})

test('the next holder stores the missing rows of calls after a crash between the writes of their round', async () => {
  const it = await set({ script: [{ text: 'done' }], tools: [makeTool('look', async () => ({ text: '' }))] })
  const { runId } = await leftBehind(it, Array<string>(150).fill('look'))
  ahead = 61_000
  await it.worker.serve(it.key)
  await it.settled(runId)
  const rows = (await it.log()).filter((message) => message.role === 'tool')
  expect(rows.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 150 }, (_, place) => place))
  expect(new Set(rows.slice(64).map(({ status }) => status))).toEqual(new Set(['error']))
  expect(it.requests[0]?.messages.slice(2)).toMatchObject(rows.map(({ parts }) => ({ role: 'tool', parts })))
})

test('a call of an idempotent tool is not repeated if the agent no longer lists the tool', async () => {
  const look = makeTool('look', () => Promise.reject(new Error('must not run')), { idempotent: true })
  const it = await set({ script: [{ text: 'done' }], tools: [look], listed: [] })
  const { runId } = await leftBehind(it, ['look'])
  ahead = 61_000
  await it.worker.serve(it.key)
  await it.settled(runId)
  expect((await it.log()).at(2)).toMatchObject({ role: 'tool', status: 'interrupted' })
})

test('an output that a dead holder stored does not block the output of the next holder', async () => {
  const look = makeTool('look', async () => ({ text: 'new '.repeat(20_000) }), { idempotent: true })
  const it = await set({ script: [{ text: 'done' }], tools: [look] })
  const { lease, runId } = await leftBehind(it, ['look'])
  const at = { messageId: (await it.log()).at(-1)?.id ?? '', attempt: String(lease.generation) }
  for (const { name, bytes, mediaType } of fitContent(at, { text: 'old '.repeat(20_000) }, DEFAULT_POLICIES).objects)
    await it.ports.outputs.put(it.key, name, bytes, mediaType)
  ahead = 61_000
  await it.worker.serve(it.key)
  expect((await it.settled(runId)).status).toBe('completed')
  const row = (await it.log()).find((message) => message.role === 'tool')
  const output = await it.ports.outputs.read(it.key, row?.output?.object ?? '')
  expect(Buffer.from(output).toString()).toBe('new '.repeat(20_000))
})

test('late writes of the dead holder after the takeover change nothing', async () => {
  const it = await set({ script: [{ text: 'done' }], tools: [makeTool('pay', async () => ({ text: '' }))] })
  const { lease, runId } = await leftBehind(it, ['pay'])
  const row = (await it.log()).at(-1)
  ahead = 61_000
  await it.worker.serve(it.key)
  await it.settled(runId)
  const late = { messageId: row?.id ?? '', status: 'completed', parts: [], completedAt: 1, durationMs: 1 } as const
  await expect(it.ports.log.completeCall(lease, late)).rejects.toMatchObject({ code: 'lease_lost' })
  await expect(it.ports.lease.heartbeat(lease, clock.now() + 60_000)).rejects.toMatchObject({ code: 'lease_lost' })
  await expect(it.ports.log.endRun(lease, { outcome: 'failed', stopReason: 'error' })).rejects.toMatchObject({
    code: 'lease_lost',
  })
})

test('a run that is taken over three times without progress fails, and the next input runs', async () => {
  const it = await set({ script: [{ text: 'fine' }] })
  const { runId } = await leftBehind(it, ['pay'])
  for (let takeover = 1; takeover < 3; takeover++) {
    ahead += 61_000
    const seen = await it.ports.lease.readHeader(it.key)
    if (seen !== undefined) await it.ports.lease.take(seen, `dead-${takeover}`)
  }
  ahead += 61_000
  const next = await it.submit('still there?')
  expect(await it.settled(runId)).toMatchObject({ status: 'failed', error: { code: 'crashed_repeatedly' } })
  expect(await it.settled(next)).toMatchObject({ status: 'completed' })
})

test('a run whose model can no longer be opened fails, and its aborted call is interrupted', async () => {
  const refusal = new ModelError('authentication', 'no credentials', { retryable: false })
  const models = { open: () => Promise.reject(refusal) }
  const it = await set({ script: [], tools: [], change: (ports) => ({ ...ports, models }) })
  const { runId } = await leftBehind(it, ['pay'])
  ahead = 61_000
  await it.worker.serve(it.key)
  expect(await it.settled(runId)).toMatchObject({ status: 'failed', error: { code: 'authentication' } })
  expect((await it.log()).slice(2)).toMatchObject([{ status: 'interrupted' }, { round: 1, parts: [{ type: 'error' }] }])
})

test('followers get a discard of the streamed content when this process loses and regains the run', async () => {
  const stopped: unknown[] = []
  const it = await set({
    script: [
      async function* (_request, signal) {
        signal.addEventListener('abort', () => stopped.push(signal.reason))
        yield { type: 'text.delta', part: 0, text: 'lost' }
        ahead = 51_000
        await clock.sleep(10_000, signal)
      },
      { text: 'found' },
    ],
  })
  const runId = await it.submit('go')
  const seen: string[] = []
  const following = (async () => {
    for await (const event of it.service.follow(it.key, runId, { signal: AbortSignal.timeout(HANG_TIMEOUT_MS) }))
      seen.push(event.type === 'text.delta' ? event.text : event.type)
  })()
  await it.worker.idle()
  expect(stopped).toMatchObject([{ name: 'LeaseLost' }])
  ahead = 61_000
  await it.worker.serve(it.key)
  await following
  const expected = 'lost run.resumed round.restarted found message.completed run.completed'
  expect(seen.slice(seen.indexOf('lost'))).toEqual(expected.split(' '))
})

test('`continue` resumes a run whose holder has crashed', async () => {
  const it = await set({ script: [{ text: 'done' }] })
  const { runId } = await leftBehind(it, ['pay'])
  ahead = 61_000
  expect(await it.service.continue(it.session, {}, { here: true })).toEqual({ runId, repeated: false })
  expect(await it.settled(runId)).toMatchObject({ status: 'completed' })
})

test('`continue` starts an input that was accepted but never started', async () => {
  const it = await set({ script: [{ text: 'done' }] })
  const input = { parts: [{ type: 'text', text: 'go' } as const] }
  const run = { agent: 'default', trigger: 'input', onBusy: 'queue', input, clientTools: [] } as const
  const { runId } = await it.ports.inbox.enqueue(it.key, run)
  expect(await it.service.continue(it.session, {}, { here: true })).toEqual({ runId, repeated: false })
  expect(await it.settled(runId)).toMatchObject({ status: 'completed' })
})

test('a cancel ends a run at once if its holder has crashed and the lease has expired', async () => {
  const it = await set({ script: [] })
  const { runId } = await leftBehind(it, ['pay'])
  ahead = 61_000
  await it.service.cancel(it.key, runId)
  expect(await it.ports.reader.run(it.key, runId)).toMatchObject({ status: 'cancelled' })
  expect((await it.log()).at(-1)).toMatchObject({ role: 'tool', status: 'interrupted' })
})

test('a completion that arrives as the lease expires is not stored, because its calls would count as executed', async () => {
  const it = await set({
    script: [
      async function* () {
        ahead = 51_000
        await clock.sleep(700)
        yield { type: 'completion', completion: completionOf({ calls: [{ name: 'pay' }] }) }
      },
    ],
  })
  await it.submit('go')
  await it.worker.idle()
  expect((await it.log()).map((message) => message.role)).toEqual(['user'])
})

test('a process that was suspended until its lease was nearly expired starts no further call', async () => {
  const ran: string[] = []
  const names = Array.from({ length: 9 }, (_, place) => `tool-${place}`)
  const tools = names.map((name, place) =>
    makeTool(name, async () => {
      ran.push(name)
      await clock.sleep(place === 0 ? 20 : 100)
      // Eight calls run at a time, so the ninth starts when the first one ends.
      if (place === 0) ahead = 51_000
      return { text: '' }
    }),
  )
  const it = await set({ script: [{ calls: names.map((name) => ({ id: name, name })) }, { text: 'done' }], tools })
  await it.submit('go')
  await it.worker.idle()
  expect(ran).toEqual(names.slice(0, 8))
})

test.each([
  ['before its summary was stored', false, ['so far', 'going on']],
  ['after that', true, ['going on']],
])('a run whose holder crashed %s continues with one summary, counted once', async (_when, isStored, script) => {
  const policies = { consolidation: { threshold: 2, keepRecentRatio: 0.5 }, maxRunTokens: 10 }
  const texts = ['one', 'two', ...script].map((text) => ({ text, tokens: 10 }))
  const { ports, key, submit, settled, service, worker, requests } = await set({ script: texts, policies })
  for (const text of ['first', 'second']) await settled(await submit(text))
  const run = { agent: 'default', trigger: 'input', onBusy: 'queue', clientTools: [], startAs: 'dead' } as const
  const input = { parts: [{ type: 'text', text: 'third' } as const] }
  const { runId, started } = await ports.inbox.enqueue(key, { ...run, input })
  const { messages } = await ports.reader.messages(key, { order: 'ascending', limit: 10 })
  if (started !== undefined && isStored) {
    const usage = { ...completionOf({ tokens: 10 }).usage }
    const summary = { text: 'so far', through: messages[2]?.id ?? '', messages: 3, createdAt: 1, usage, model: 'm' }
    const shown = { type: 'context.nearly_full', messages: 3, threshold: 2, after: started.lease.head ?? '' } as const
    await ports.log.recordDecision(started.lease, { number: 0, context: { summary }, notices: [shown], work: summary })
  }
  ahead += 61_000
  await worker.serve(key)
  expect(await settled(runId)).toMatchObject({ status: 'completed', stopReason: 'budget' })
  expect(requests.at(-1)?.messages[0]?.parts).toMatchObject([{ text: expect.stringContaining('so far') as string }])
  expect(requests).toHaveLength(isStored ? 3 : 4)
  const session = await ports.sessions.read(key)
  expect(session?.totals.byAgent['summary']?.totalTokens).toBe(10)
  expect(session?.summary?.messages).toBe(3)
  const { notices = [] } = (await ports.reader.run(key, runId)) ?? {}
  expect(notices.filter(({ type }) => type === 'context.nearly_full')).toHaveLength(1)
  await expect(service.context(session ?? never(), undefined)).resolves.toMatchObject({ summary: { text: 'so far' } })
})

test('if a holder did not emit its warning about a nearly full context, the next holder does', async () => {
  const policies = { consolidation: { threshold: 5, keepRecentRatio: 0.5 } }
  const script = [{ text: 'one' }, { text: 'two' }, { text: 'on' }]
  const { ports, key, submit, settled, worker, events } = await set({ script, policies })
  for (const text of ['first', 'second']) await settled(await submit(text))
  const run = { agent: 'default', trigger: 'input', onBusy: 'queue', clientTools: [], startAs: 'dead' } as const
  const { runId } = await ports.inbox.enqueue(key, { ...run, input: { parts: [{ type: 'text', text: 'third' }] } })
  await submit('to the left', { onBusy: 'steer' })
  ahead += 61_000
  await worker.serve(key)
  await settled(runId)
  const steered = (await ports.reader.messages(key, { order: 'descending', limit: 2 })).messages[1]
  expect((await ports.reader.run(key, runId))?.notices).toMatchObject([
    { type: 'run.resumed' },
    { type: 'context.nearly_full', messages: 4, threshold: 5, after: steered?.id },
  ])
  const shown = events.filter((one) => one.runId === runId).map(({ type }) => type)
  expect(shown.slice(0, 4)).toEqual(['run.resumed', 'message.steered', 'context.nearly_full', 'round.started'])
})

function never(): never {
  throw new Error('there is no session')
}
