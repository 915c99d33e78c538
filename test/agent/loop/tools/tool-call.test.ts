/* Evidence, access: Error texts of providers and of storage go to the log and not to callers. */
import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { executeCall } from '../../../../functions/agent/loop/tools/tool-call.ts'
import { LeaseLost, TooltrailError } from '../../../../functions/domain/errors.ts'
import type { Tool, ToolContext } from '../../../../functions/ports/tool.ts'
import { makeTool } from '../../harness.ts'
import { eventually } from '../../../eventually.ts'

const CALL = { name: 'work', arguments: '{"a":1}' }
const never = () => new Promise<never>(() => undefined)
const stopped = (signal: AbortSignal) => new Promise((resolve) => signal.addEventListener('abort', resolve))

function contextOf(signal: AbortSignal): ToolContext {
  return {
    tenant: 'default',
    session: 's',
    runId: 'r',
    agent: 'a',
    toolCallId: 'c',
    signal,
    now: () => Date.now(),
    progressed: () => undefined,
    searchHistory: async () => ({ entries: [], understood: { terms: [] } }),
    readOutput: async () => undefined,
  }
}

const logged: unknown[] = []
const logger = {
  info: () => undefined,
  warn: () => undefined,
  error: (_message: string, cause: unknown) => void logged.push(cause),
}
const execute = (tool: Tool, work = new AbortController()) => executeCall(tool, CALL, contextOf(work.signal), logger)

test("a storage failure in a tool hides the store's message from the model", async () => {
  const failure = new TooltrailError('storage_failed', 'DynamoDB: arn:aws:sts::1:assumed-role/x may not')
  const outcome = await execute(makeTool('work', () => Promise.reject(failure)))
  expect(outcome).toEqual({ status: 'error', text: 'error: the storage did not respond: try again' })
  const outage = new TooltrailError('search_unavailable', 'the index cannot be read now: try again later')
  const search = await execute(makeTool('work', () => Promise.reject(outage)))
  expect(search).toEqual({ status: 'error', text: 'error: the index cannot be read now: try again later' })
  expect(logged).toEqual([failure, outage])
})

test('a tool and the model both learn of a timeout, however the tool reacts', async () => {
  let reported: unknown
  const obeys: Tool['execute'] = async (_, { signal }) => {
    await stopped(signal)
    reported = signal.reason
    throw new Error('stopped')
  }
  for (const run of [obeys, never]) {
    const outcome = await execute(makeTool('work', run, { timeoutMs: 20 }))
    expect(outcome).toEqual({ status: 'error', text: 'error: work did not finish within 0.02 s' })
  }
  expect(reported).toMatchObject({ name: 'TimeoutError' })
})

test('a call ends with the error of a lost lease, whatever the tool does', async () => {
  let reported: unknown
  const obeys: Tool['execute'] = async (_, { signal }) => {
    await stopped(signal)
    reported = signal.reason
    return { text: 'stopped' }
  }
  for (const run of [obeys, never]) {
    const work = new AbortController()
    const call = execute(makeTool('work', run), work)
    work.abort(new LeaseLost('s', 1))
    await expect(call).rejects.toThrow(LeaseLost)
  }
  expect(reported).toBeInstanceOf(LeaseLost)
})

test('after a cancel, a late result is stored, and a call that ignores the cancel is abandoned', async () => {
  const [work, other] = [new AbortController(), new AbortController()]
  const call = execute(
    makeTool('work', async (_, { signal }) => {
      await stopped(signal)
      return { text: 'paid' }
    }),
    work,
  )
  const deaf = execute(makeTool('work', never), other)
  for (const run of [work, other]) run.abort(new Error('the run was cancelled'))
  expect(await call).toEqual({ status: 'completed', text: 'paid' })
  await expect(deaf).rejects.toThrow('the run was cancelled')
})

test('a tool does not start if the work must already stop', async () => {
  let begun = 0
  const work = new AbortController()
  work.abort(new Error('the run was cancelled'))
  const tool = makeTool('work', async () => ({ text: String(++begun) }))
  await expect(execute(tool, work)).rejects.toThrow('the run was cancelled')
  expect(begun).toBe(0)
})

test('a call removes its timer and its listeners, however it ends', async () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const before = timers()
  const work = new AbortController()
  await execute(
    makeTool('work', async () => ({ text: 'done' })),
    work,
  )
  await execute(
    makeTool('work', () => Promise.reject(new Error('broken'))),
    work,
  )
  await execute(makeTool('work', never, { timeoutMs: 1 }), work)
  expect(getEventListeners(work.signal, 'abort')).toEqual([])
  // Other timers of this process may have started or ended since the count.
  await eventually(() => expect(timers()).toBeLessThanOrEqual(before))
})

test('a tool that reports progress restarts its timeout, up to ten times', async () => {
  const working =
    (steps: number): Tool['execute'] =>
    async (_, { progressed, signal }) => {
      for (let step = 0; step < steps; step++) {
        await new Promise((resolve) => setTimeout(resolve, 50))
        signal.throwIfAborted()
        progressed()
      }
      return { text: 'done' }
    }
  expect(await execute(makeTool('work', working(25), { timeoutMs: 1_000 }))).toMatchObject({ status: 'completed' })
  const begun = performance.now()
  const endless = await execute(makeTool('work', working(1_000), { timeoutMs: 500 }))
  expect(endless).toEqual({ status: 'error', text: 'error: work did not finish within 0.5 s' })
  expect(performance.now() - begun).toBeGreaterThan(4_500)
  expect(performance.now() - begun).toBeLessThan(40_000)
})
