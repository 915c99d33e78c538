import { expect, test } from 'vitest'
import type { RunBody } from '../../e2e/backend/client.ts'
import { STOP_MARGIN_SECONDS, WORKER_SECONDS } from '../declared-changes.ts'
import type { System } from '../system.ts'
import { within } from './within.ts'

const ASYNC = { prefer: 'respond-async' }
/** Duration of each round of the long run, and the number of rounds. All rounds together exceed a worker's time limit. */
const ROUND_MS = 2_000
const ROUNDS = 6
/** Time limit for a run's continuation. The lease expires after 60 s, and a sweep finds the run within 60 s. */
const CONTINUED_MS = 300_000

/** A run whose worker was killed while a tool was executed. */
export interface KilledRun {
  readonly id: string
  readonly call: string
}

/** Scenarios of runs that workers execute after hints in the queue. */
export function declareRuns(system: () => System, killed: () => KilledRun): void {
  test('a background run gets its response at once and is executed by a worker', async () => {
    const { client, functions } = system()
    await client.post('/v1/sessions', { id: 'async' })
    const reply = await client.send<RunBody>(
      'POST',
      '/v1/sessions/async/messages',
      { content: 'what time is it' },
      ASYNC,
    )
    expect([reply.status, reply.body.status]).toStrictEqual([202, 'queued'])
    const ended = await client.runUntil('async', reply.body.id, ['completed'])
    expect(ended.rounds).toBe(2)
    expect(hintsOf(functions.Worker.events, 'async')).toHaveLength(1)
  })

  test('a run that exceeds a worker’s time is handed off through the queue, between two rounds', async () => {
    expect((ROUNDS + 1) * ROUND_MS).toBeGreaterThan((WORKER_SECONDS - STOP_MARGIN_SECONDS) * 1_000)
    const { client, functions, model } = system()
    await client.post('/v1/sessions', { id: 'long' })
    const content = `work ${ROUNDS} rounds of ${ROUND_MS} ms`
    const before = model.requests.length
    const run = await client.post<RunBody>('/v1/sessions/long/messages', { content }, ASYNC)
    const ended = await client.runUntil('long', run.id, ['completed', 'failed'], 60_000)
    expect([ended.status, ended.rounds]).toStrictEqual(['completed', ROUNDS + 1])
    const [first, second] = hintsOf(functions.Worker.events, 'long')
    expect([first?.hops ?? 0, second?.hops]).toStrictEqual([0, 1])
    // Checks that no round was started twice.
    expect(model.requests.slice(before)).toHaveLength(ROUNDS + 1)
  })

  test('a run of a killed worker is continued by another after the sweeper has hinted at it', async () => {
    const { client, deployment } = system()
    const { id, call } = killed()
    const ended = await within(CONTINUED_MS, 'the end of the run', async () => {
      await deployment.tick()
      const run = await client.get<RunBody>(`/v1/sessions/killed/runs/${id}`)
      return run.status === 'completed' && run
    })
    expect(ended.rounds).toBe(2)
    const tools = (await client.messages('killed')).filter(({ role }) => role === 'tool')
    expect(tools.map((message) => [message.id, message.status])).toStrictEqual([[call, 'completed']])
  })
}

/** Starts a run, lets its worker hang in a tool, and kills the worker, as the loss of a machine would. */
export async function killWorkerInTool({ client, functions: { Worker: worker } }: System): Promise<KilledRun> {
  await client.post('/v1/sessions', { id: 'killed', owner: 'killer' })
  worker.disturb((service) => (service === 'opensearch' ? { kind: 'silence' } : undefined))
  const content = 'use search_history with {"query": "anything", "folder": "/home/nobody"}'
  const run = await client.post<RunBody>('/v1/sessions/killed/messages', { content }, ASYNC)
  const call = await within(120_000, 'the tool', async () =>
    (await client.messages('killed')).find(({ role, status }) => role === 'tool' && status === 'running'),
  )
  await Promise.all(worker.busy().map((pid) => worker.kill(pid)))
  worker.disturb(() => undefined)
  return { id: run.id, call: call.id }
}

interface Hint {
  readonly session: string
  readonly hops?: number
}

/** The hints of a session that workers received, in order. */
export function hintsOf(events: readonly unknown[], session: string): Hint[] {
  const records = (events as readonly { readonly Records: readonly { readonly body: string }[] }[]).flatMap(
    ({ Records }) => Records,
  )
  return records.map(({ body }) => JSON.parse(body) as Hint).filter((hint) => hint.session === session)
}
