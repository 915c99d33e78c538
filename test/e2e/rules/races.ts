import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { OpenAiServer } from '../../model-server/openai-server.ts'
import { startOpenAiServer } from '../../model-server/openai-server.ts'
import type { Backend } from '../backend/backend.ts'
import type { Client, Message, RunBody } from '../backend/client.ts'
import type { CrashBench } from '../crashes/crash-runner.ts'
import { createCrashBench } from '../crashes/crash-runner.ts'
import { expectReplayable, textOf } from '../crashes/invariants.ts'
import { inputText, scriptedModel } from '../crashes/parts/scripted-model.ts'
import type { RunningProgram } from '../backend/program.ts'
import { whileUnavailable } from '../backend/unavailable.ts'

const PROCESSES = 4
const CLIENT_TOOL = { name: 'client', description: 'executed by the caller', parameters: { type: 'object' } }
const ENDED: readonly string[] = ['completed', 'failed', 'cancelled']

interface Load {
  /** Inputs sent to all processes within a second. */
  readonly inputs: number
  /** Inputs sent one after the other, each with calls that the clients resolve. */
  readonly asked: number
  /** Inputs sent before each of three kills. */
  readonly perKill: number
}

/** Tests four processes that share one session: its log has no fork, and its inputs are in one order. */
export const racesOn = (backend: Backend, { inputs, asked, perKill }: Load) =>
  describe(`four processes on one session, on ${backend.name}`, () => {
    const session = 'shared'
    let model: OpenAiServer
    let bench: CrashBench
    let programs: RunningProgram[]

    beforeEach(async () => {
      model = await startOpenAiServer(scriptedModel)
      bench = await createCrashBench(model.baseUrl, backend)
      programs = await startAll()
      await client(0).post('/v1/sessions', { id: session })
    })
    afterEach(async () => {
      await Promise.all(programs.map((program) => program.kill()))
      await bench.remove()
      await model.close()
    })

    /** Starts all processes. They create or migrate the database at the same time. */
    const startAll = (): Promise<RunningProgram[]> =>
      Promise.all(Array.from({ length: PROCESSES }, () => bench.start()))

    const client = (index: number): Client => {
      const program = programs[index % programs.length]
      if (program === undefined) throw new Error('no program')
      return program.client
    }

    test('every input is executed exactly once, in the order of acceptance, and the log does not fork', async () => {
      const accepted = await Promise.all(
        Array.from({ length: inputs }, async (_, index) => {
          // Spreads the inputs over a second, in no particular order.
          await sleep((index * 619) % 1_000)
          const word = index % 10 === 0 ? 'parallel' : 'say'
          return post(client(index), inputText(word, `n${index}`), `key-${index}`)
        }),
      )
      await untilIdle(client(1))
      await expectInOrder(client(2), accepted)
    })

    test('calls resolved by several processes at once continue each run exactly once', async () => {
      const accepted: RunBody[] = []
      for (let index = 0; index < asked; index++) {
        const run = await post(client(index), inputText('ask', `q${index}`), `key-${index}`)
        accepted.push(run)
        const paused = await client(index + 1).runUntil(session, run.id, ['paused'])
        const responses = paused.waiting.flatMap((call) =>
          Array.from({ length: PROCESSES }, (_, process) => sendResult(client(process), run.id, call.tool_call_id)),
        )
        const statuses = await Promise.all([...responses, resume(client(index + 2)), resume(client(index + 3))])
        expect(statuses.filter((status) => status >= 500)).toStrictEqual([])
        await client(index).runUntil(session, run.id, ['completed'])
      }
      await expectInOrder(client(3), accepted)
    })

    test('no input is lost or reordered when all processes are killed and another one continues', async () => {
      const accepted: RunBody[] = []
      let messages = 0
      for (let round = 0; round < 3; round++) {
        const posted = Array.from({ length: perKill }, (_, index) =>
          post(client(index), inputText('parallel', `r${round}n${index}`), `key-${round}-${index}`),
        )
        accepted.push(...(await Promise.all(posted)))
        // Each run must store a message: it would be given up after three takeovers without one.
        messages = await untilMoreThan(client(0), messages)
        await Promise.all(programs.map((program) => program.kill()))
        bench.letLeasesEnd()
        programs = await startAll()
      }
      await untilIdle(client(0))
      await expectInOrder(client(1), accepted)
    })

    function post(at: Client, content: string, key: string): Promise<RunBody> {
      const headers = { prefer: 'respond-async', 'idempotency-key': key }
      return at.post(`/v1/sessions/${session}/messages`, { content, tools: [CLIENT_TOOL] }, headers)
    }

    async function sendResult(at: Client, run: string, call: string): Promise<number> {
      const path = `/v1/sessions/${session}/runs/${run}/tool-results`
      const body = { results: [{ tool_call_id: call, output: 'the same from all' }] }
      const { status } = await whileUnavailable(() => at.send('POST', path, body, { prefer: 'respond-async' }))
      expect([200, 202, 404, 409]).toContain(status)
      return status
    }

    async function resume(at: Client): Promise<number> {
      const headers = { prefer: 'respond-async' }
      const path = `/v1/sessions/${session}/continue`
      return (await whileUnavailable(() => at.send('POST', path, undefined, headers))).status
    }

    async function untilIdle(at: Client): Promise<void> {
      for (let attempt = 0; attempt < 2_000; attempt++) {
        const runs = await at.all<RunBody>(`/v1/sessions/${session}/runs?limit=100`)
        if (runs.every((run) => ENDED.includes(run.status))) return
        await sleep(250)
      }
      throw new Error('the session does not come to rest')
    }

    /** Waits until there are more than `before` messages. Returns their number. */
    async function untilMoreThan(at: Client, before: number): Promise<number> {
      for (let attempt = 0; attempt < 3_000; attempt++) {
        const { length } = await at.messages(session)
        if (length > before) return length
        await sleep(20)
      }
      throw new Error('the session does not go on')
    }

    async function expectInOrder(at: Client, accepted: readonly RunBody[]): Promise<void> {
      const messages = await at.messages(session)
      expectReplayable(session, messages, await at.chat(session))
      const executed = messages.filter((message) => message.role === 'user').map((message) => message.run_id)
      expect(executed).toStrictEqual(accepted.map((run) => run.id).toSorted())
      expect(runsInTheLog(messages), 'the messages of a run stand together').toStrictEqual(executed)
      for (const run of accepted) {
        const last = messages.findLast((message) => message.run_id === run.id)
        expect(last?.role === 'assistant' && textOf(last), `the completion of ${run.id}`).toMatch(/^all done with /)
      }
    }
  })

/**
 * Lists the run ids of the messages in order, without repeats of adjacent ids. An id that occurs twice shows that two runs are
 * mixed.
 */
function runsInTheLog(messages: readonly Message[]): string[] {
  const runs: string[] = []
  for (const { run_id } of messages) if (runs.at(-1) !== run_id) runs.push(run_id)
  return runs
}
