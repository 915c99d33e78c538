import { setTimeout as sleep } from 'node:timers/promises'
import { whileUnavailable } from '../backend/unavailable.ts'
import type { DurableClient } from './parts/durable-client.ts'
import { CALLBACK_NAME } from './parts/reported.ts'
import { answerResponse } from './parts/answered-response.ts'
import { forkSession, replaceRuns } from './parts/replaced-runs.ts'
import { importOnce } from './imported-turns.ts'
import { forgive, hasFallenSilent, inputText, marksOf } from './parts/scripted-model.ts'

/**
 * Actions of a client. After each crash, the actions start again, and the client's recorded facts show which of them are done.
 */
export interface Scenario {
  readonly name: string
  /** Whether the scenario deletes its session. */
  readonly deletes?: boolean
  /**
   * Distance between two tried steps, larger in scenarios with many steps. `first` is the first tried step, by default step 1.
   */
  readonly stride?: number
  readonly first?: number
  /** Types of the callbacks that the receiver has at the end, in order. */
  readonly reported?: readonly string[]
  drive(client: DurableClient): Promise<void>
}

const CLIENT_TOOL = { name: 'client', description: 'executed by the caller', parameters: { type: 'object' } }

/** Runs one input to its end and reads its events live. */
const oneInput = (
  name: string,
  word: string,
  {
    tools = [],
    agent,
    denies = false,
    stride = 1,
  }: {
    readonly tools?: readonly object[]
    readonly agent?: string
    readonly denies?: boolean
    readonly stride?: number
  } = {},
): Scenario => ({
  name,
  stride,
  async drive(client) {
    await client.openSession(agent)
    await client.finish(await submit(client, 'first', word, { tools }, true), denies)
  },
})

/** Sends one input for each of these words, which select the model's plans. Waits for the end of each run. */
const severalInputs = (name: string, agent: string, words: readonly string[]): Scenario => ({
  name,
  async drive(client) {
    await client.openSession(agent)
    for (const [place, word] of words.entries())
      await client.finish(await submit(client, `input-${place}`, word, {}, false))
  },
})

/** Scenarios for every kind of turn that the loop supports. */
export const scenarios: readonly Scenario[] = [
  oneInput('parallel', 'parallel'),
  oneInput('large', 'large'),
  oneInput('pause', 'ask', { tools: [CLIENT_TOOL] }),
  oneInput('approval', 'approve'),
  oneInput('denial', 'approve', { denies: true }),
  oneInput('last-round', 'long', { agent: 'brief' }),
  oneInput('team', 'team', { agent: 'leader' }),
  oneInput('deep-team', 'deep', { agent: 'first', tools: [CLIENT_TOOL] }),
  oneInput('many', 'many', { stride: 23 }),
  oneInput('tool-time-out', 'tardy'),
  oneInput('model-error', 'flaky'),
  severalInputs('summary', 'summarised', ['say', 'task', 'say', 'say']),
  severalInputs('sources', 'citing', ['cite', 'cite']),
  {
    name: 'queued',
    async drive(client) {
      await client.openSession()
      const first = await submit(client, 'first', 'wait', {}, false)
      const second = await submit(client, 'second', 'say', {}, false)
      await client.finish(second)
      await client.finish(first)
    },
  },
  {
    name: 'silent',
    async drive(client) {
      await client.openSession('leader')
      const first = await submit(client, 'first', 'silent', {}, false)
      await untilSilent(client, first, 1)
      const second = await submit(client, 'second', 'say', {}, false)
      await client.finish(first)
      await client.finish(second)
    },
  },
  {
    name: 'silent-cancel',
    async drive(client) {
      await client.openSession('leader')
      const run = await submit(client, 'first', 'silent', {}, false)
      await untilSilent(client, run, 0)
      await client.stop(run)
      await client.finish(run)
    },
  },
  {
    name: 'cancel',
    async drive(client) {
      await client.openSession()
      const run = await submit(client, 'first', 'hang', {}, false)
      await client.untilCalls(run)
      await client.stop(run)
      await client.finish(run)
    },
  },
  {
    name: 'steer',
    async drive(client) {
      await client.openSession()
      const run = await submit(client, 'first', 'wait', {}, false)
      await client.untilCalls(run)
      const steering = await submit(client, 'second', 'say', { on_busy: 'steer' }, false)
      await client.finish(run)
      await client.finish(steering)
    },
  },
  {
    name: 'continue',
    async drive(client) {
      await client.openSession()
      const failing = await submit(client, 'first', 'refused', {}, true)
      const { status } = await client.finish(failing)
      if (status !== 'failed') throw new Error(`${failing} is ${status}, though the model refuses`)
      client.knows.failed.add(failing)
      forgive(uniqueOf(client, 'first'))
      await client.finish(await client.resume('again'))
    },
  },
  {
    name: 'superseded',
    async drive(client) {
      await client.openSession()
      const paused = await submit(client, 'first', 'ask', { tools: [CLIENT_TOOL] }, false)
      const isPaused = await client.untilPaused(paused)
      const next = await submit(client, 'second', 'say', {}, false)
      if (isPaused) client.knows.stopped.add(paused)
      await client.finish(next)
    },
  },
  {
    name: 'cancel-paused',
    async drive(client) {
      await client.openSession()
      const paused = await submit(client, 'first', 'ask', { tools: [CLIENT_TOOL] }, false)
      const isPaused = await client.untilPaused(paused)
      await client.stop(paused)
      if (isPaused) client.knows.stopped.add(paused)
      await client.finish(paused)
    },
  },
  {
    name: 'callback',
    reported: ['run.paused', 'run.completed'],
    async drive(client) {
      await client.openSession()
      const body = { tools: [CLIENT_TOOL], callback: CALLBACK_NAME }
      const run = await submit(client, 'first', 'ask', body, false)
      await client.untilPaused(run)
      await client.finish(run)
      await client.untilReported()
    },
  },
  {
    name: 'import',
    async drive(client) {
      await client.openSession()
      await importOnce(client)
      await client.finish(await submit(client, 'first', 'say', {}, false))
    },
  },
  {
    name: 'response',
    async drive(client) {
      await client.openSession()
      await answerResponse(client)
    },
  },
  { name: 'replacement', drive: replaceRuns },
  { name: 'fork', drive: forkSession },
  { name: 'deletion', deletes: true, drive: driveDeletion },
]

async function driveDeletion(client: DurableClient): Promise<void> {
  const { session } = client.knows
  if (!client.knows.stopped.has('deleting')) {
    await client.openSession()
    await client.finish(await submit(client, 'first', 'large', {}, true))
    client.knows.stopped.add('deleting')
  }
  const { status, text } = await whileUnavailable(() => client.client.send('DELETE', `/v1/sessions/${session}`))
  if (status !== 200 && status !== 202 && status !== 404) throw new Error(`DELETE: ${status} ${text}`)
  for (let attempt = 0; attempt < 1_500; attempt++) {
    const deletion = await client.client.get<{ status: 'running' | 'completed' }>(`/v1/deletions/${session}`)
    if (deletion.status === 'completed') return
    await sleep(20)
  }
  throw new Error(`${session}: the deletion does not end`)
}

/** Waits until the model is silent in this round of the faltering member, or the run has ended. */
async function untilSilent(client: DurableClient, run: string, round: number): Promise<void> {
  while (!hasFallenSilent(`${uniqueOf(client, 'first')}.m0`, round)) {
    const { status } = await client.readRun(run)
    if (['completed', 'failed', 'cancelled'].includes(status)) return
    await sleep(20)
  }
}

const uniqueOf = ({ knows }: DurableClient, key: string): string => `${knows.session}.${key}`

async function submit(
  client: DurableClient,
  key: string,
  word: string,
  body: object,
  stream: boolean,
): Promise<string> {
  const unique = uniqueOf(client, key)
  for (const mark of marksOf(word, unique)) client.knows.marks.add(mark)
  return client.submit(key, { content: inputText(word, unique), ...body }, stream)
}
