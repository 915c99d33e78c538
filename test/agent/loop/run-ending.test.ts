/* Evidence, access: Error texts of providers and of storage go to the log and not to callers. */
/* Evidence, replay: A completion numbers the sources of at most 2,000 results. A failed run stores no data that was refused. */
import { expect, test } from 'vitest'
import { CompletionFailed } from '../../../functions/agent/loop/model/completion-failed.ts'
import { RunCancelled } from '../../../functions/agent/loop/writer/lease-keeper.ts'
import { endOfCrashLoop, endRun, stopAfter } from '../../../functions/agent/loop/run-ending.ts'
import type { RunState } from '../../../functions/agent/loop/run-state.ts'
import { openWriter } from '../../../functions/agent/loop/writer/run-writer.ts'
import { createSourceCounter } from '../../../functions/agent/loop/sources/source-counter.ts'
import { createLeader } from '../../../functions/agent/loop/thread.ts'
import { DEFAULT_POLICIES } from '../../../functions/domain/agent.ts'
import type { Agent } from '../../../functions/domain/agent.ts'
import { LeaseLost, TooltrailError } from '../../../functions/domain/errors.ts'
import type { RunEvent } from '../../../functions/domain/events.ts'
import type { AssistantMessage, ToolMessage } from '../../../functions/domain/messages/message.ts'
import { ModelError } from '../../../functions/ports/model.ts'
import type { RunEnd } from '../../../functions/domain/runs/run-changes.ts'
import type { Run } from '../../../functions/domain/runs/run.ts'

const AGENT = { name: 'default', model: 'm', policies: DEFAULT_POLICIES } as Agent
const lost = new LeaseLost('s', 1)
const ANSWER: RunEnd = {
  outcome: 'completed',
  stopReason: 'answer',
  message: { id: 'm9', role: 'assistant', parts: [{ type: 'text', text: 'done' }] } as unknown as AssistantMessage,
}

interface Found {
  readonly takeovers?: number
  /** The cancel that the holder reads after the store has refused another end of the run. */
  readonly cancel?: RunCancelled
  readonly settled?: () => Promise<void>
  readonly closed?: readonly ToolMessage[]
  /** Errors with which the store refuses the first attempts to end the run. */
  readonly refused?: readonly Error[]
}

/** Creates a run that is about to end. If it has a cancel, the store refuses every outcome except `cancelled`. */
function ending({ takeovers = 0, cancel, settled = async () => undefined, closed = [], refused = [] }: Found = {}) {
  const asked: RunEnd[] = []
  const events: RunEvent[] = []
  const logged: unknown[] = []
  const run = { id: 'r', agent: 'default', rounds: 0, status: 'running' } as unknown as Run
  const ports = {
    clock: { now: () => 0, sleep: () => new Promise(() => undefined) },
    logger: { error: (_message: string, cause: unknown) => void logged.push(cause) },
    log: {
      endRun: async (_: unknown, end: RunEnd) => {
        asked.push(end)
        const refusal = refused[asked.length - 1]
        if (refusal !== undefined) throw refusal
        const isRefused = cancel !== undefined && end.outcome !== 'cancelled'
        return isRefused ? undefined : { run: { ...run, status: end.outcome }, closed }
      },
    },
    lease: {
      readHeader: async () => ({ status: 'live', generation: 1, ...(cancel && { cancel: { run: 'r', ...cancel } }) }),
    },
  } as unknown as Parameters<typeof openWriter>[0]
  const lease = { tenant: 't', session: 's', runId: 'r', generation: 1, head: 'm1', owner: 'o', until: 60_000 }
  const { writer } = openWriter(ports, lease, run, (event) => void events.push(event))
  const state = {
    ports,
    held: { run, origin: 'resumed', found: { header: { takeovers }, open: [] } },
    leader: createLeader('r', AGENT),
    session: {},
    writer: { ...writer, settled },
    context: { decided: {} },
    sources: createSourceCounter(),
  } as unknown as RunState
  return { state, asked, events, logged }
}

test.each([
  ['user', 'cancelled'],
  ['superseded', 'superseded'],
] as const)('a cancel (%s) before the end of a run cancels the run and keeps its output', async (reason, why) => {
  const { state, asked, events } = ending({ cancel: new RunCancelled(reason) })
  await endRun(state, ANSWER)
  const message = { ...ANSWER.message, position: { generation: 1, number: 0 } }
  const cancelled = { outcome: 'cancelled', stopReason: why, message }
  expect(asked).toEqual([{ ...ANSWER, message }, cancelled])
  expect(events.at(-1)).toMatchObject({ type: 'run.cancelled' })
})

test('the end of a run is emitted after the ends of the calls that it closes', async () => {
  const closed = [{ id: 'm2', role: 'tool', runId: 'r', status: 'cancelled' } as ToolMessage]
  const { state, events } = ending({ closed })
  await endRun(state, ANSWER)
  expect(events.map(({ type }) => type)).toEqual(['tool_call.completed', 'message.completed', 'run.completed'])
})

test.each([
  ['itself', lost],
  ['as the cause of something else', new Error('the model gave no completion', { cause: lost })],
])('a process that lost its lease (%s) ends no run, even if no other process holds the lease', async (_, error) => {
  const { state, asked } = ending()
  expect(await stopAfter(state, error)).toMatchObject({ phase: 'lost' })
  expect(asked).toEqual([])
})

test('a failing run ends after its results are stored, and does not end if they cannot be stored', async () => {
  const order: string[] = []
  const { state, asked } = ending({ settled: async () => void order.push(`settled before ${asked.length} ends`) })
  expect(await stopAfter(state, new Error('no'))).toMatchObject({ phase: 'ended' })
  expect([order, asked.length]).toEqual([['settled before 0 ends'], 1])
  const unstored = ending({ settled: () => Promise.reject(lost) })
  expect(await stopAfter(unstored.state, new Error('no'))).toMatchObject({ phase: 'lost' })
  expect(unstored.asked).toEqual([])
})

test.each([
  [new TooltrailError('storage_failed', 'could not put: /srv/secret'), 'the storage did not respond'],
  [new TypeError('x is not a function'), 'something went wrong on our side'],
  [new TooltrailError('output_not_found', 'there is no output m1'), 'there is no output m1'],
])('an unexpected error (%s) is shown completely only to operators', async (failure, message) => {
  const { state, asked, logged } = ending()
  await stopAfter(state, failure)
  const error = { code: 'storage', message, retryable: true }
  expect(asked).toMatchObject([{ error, message: { parts: [{ type: 'error', text: message }] } }])
  expect(logged).toEqual([failure])
})

test.each([
  ['fails', new ModelError('network', 'the stream ended', { retryable: false }), 'failed'],
  ['is cancelled', new RunCancelled('user'), 'cancelled'],
])('a run that %s ends without the data that the store refuses permanently', async (_, cause, outcome) => {
  const refusal = new TooltrailError('storage_failed', 'the item is too large')
  const { state, asked, logged } = ending({ refused: [refusal] })
  state.sources.given.set(state.leader, [{ message: 'm0', from: 1, count: 1 }])
  const error = new CompletionFailed(cause, [{ type: 'text', text: 'half of it' }])
  expect(await stopAfter(state, error)).toMatchObject({ phase: 'ended' })
  const [first, second] = asked
  expect(first?.message?.parts[0]).toMatchObject({ text: 'half of it' })
  expect(first?.message?.numbered).toHaveLength(1)
  expect(second).toMatchObject({ outcome })
  expect(second?.message?.parts ?? []).toEqual(outcome === 'failed' ? [first?.message?.parts.at(-1)] : [])
  expect(second?.message?.numbered).toBeUndefined()
  expect(logged).toEqual([refusal])
})

test('a run that fails because of a refused write ends without the source numbers of that write', async () => {
  const { state, asked } = ending()
  state.sources.given.set(state.leader, [{ message: 'm0', from: 1, count: 1 }])
  await stopAfter(state, new TooltrailError('storage_failed', 'the item is too large'))
  expect(asked).toHaveLength(1)
  expect(asked[0]?.message).not.toHaveProperty('numbered')
})

test('a run is abandoned at its third takeover without a new message, not earlier', () => {
  expect(endOfCrashLoop(ending({ takeovers: 2 }).state)).toBeUndefined()
  expect(endOfCrashLoop(ending({ takeovers: 3 }).state)).toMatchObject({ error: { code: 'crashed_repeatedly' } })
})
