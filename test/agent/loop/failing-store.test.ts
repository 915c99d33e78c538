/* Evidence, durability: A tool result is stored even if some writes fail. A round whose response is lost is stored once. */
/* Evidence, replay: A truncated answer is marked as truncated, in the last round and in a member's result for its leader. */
import { afterEach, expect, test } from 'vitest'
import { TooltrailError } from '../../../functions/domain/errors.ts'
import type { Message } from '../../../functions/domain/messages/message.ts'
import type { ModelEvent } from '../../../functions/ports/model.ts'
import { until } from '../../eventually.ts'
import { completionOf, makeTool, openHarness } from '../harness.ts'
import type { Harness, Turn } from '../harness.ts'

let harness: Harness | undefined
afterEach(async () => {
  await harness?.close()
  harness = undefined
})
const open = async (options: Parameters<typeof openHarness>[0]): Promise<Harness> =>
  (harness = await openHarness(options))

const statuses = (messages: readonly Message[]): string[] =>
  messages.flatMap((message) => (message.role === 'tool' ? [message.status] : []))

const never = (): Promise<never> => new Promise(() => undefined)

/** Wraps a write so that its first attempt fails. With `acts`, the attempt fails after the write, otherwise before it. */
function failingOnce<Args extends unknown[], Result>(
  work: (...args: Args) => Promise<Result>,
  acts = false,
): (...args: Args) => Promise<Result> {
  let isFirst = true
  return async (...args) => {
    if (!isFirst) return work(...args)
    isFirst = false
    if (acts) await work(...args)
    throw new Error('the store is down')
  }
}

test.each(['before', 'after'] as const)(
  'a result whose write fails %s it takes effect is still stored',
  async (when) => {
    let ran = 0
    const pay = makeTool('pay', async () => ({ text: `paid ${++ran} ${'x'.repeat(60_000)}` }))
    const { submit, settled, log } = await open({
      script: [{ calls: [{ name: 'pay' }] }, { text: 'done' }],
      tools: [pay],
      change: (ports) => ({
        ...ports,
        outputs: { ...ports.outputs, put: failingOnce(ports.outputs.put, when === 'after') },
        log: { ...ports.log, completeCall: failingOnce(ports.log.completeCall, when === 'after') },
      }),
    })
    expect(await settled(await submit('go'))).toMatchObject({ status: 'completed' })
    expect([statuses(await log()), ran]).toEqual([['completed'], 1])
  },
)

test('an output that the store refuses permanently ends the run at once and interrupts its call', async () => {
  const refusal = new TooltrailError('storage_failed', 'access denied')
  let puts = 0
  const { submit, settled, log } = await open({
    script: [{ calls: [{ name: 'pay' }] }, { text: 'done' }],
    tools: [makeTool('pay', async () => ({ text: 'x'.repeat(60_000) }))],
    change: (ports) => ({ ...ports, outputs: { ...ports.outputs, put: () => Promise.reject((puts++, refusal)) } }),
  })
  const error = { code: 'storage', message: 'the storage did not respond' }
  expect(await settled(await submit('go'))).toMatchObject({ status: 'failed', error })
  expect([puts, statuses(await log())]).toEqual([1, ['interrupted']])
})

test('a round whose write succeeds but reports a failure is stored once, and its calls run once', async () => {
  let ran = 0
  const pay = makeTool('pay', async () => ({ text: `paid ${++ran}` }))
  const { submit, settled, log } = await open({
    script: [{ calls: [{ name: 'pay' }] }, { text: 'done' }],
    tools: [pay],
    change: (ports) => ({ ...ports, log: { ...ports.log, appendRound: failingOnce(ports.log.appendRound, true) } }),
  })
  expect(await settled(await submit('go'))).toMatchObject({ status: 'completed', rounds: 2 })
  expect((await log()).map(({ role, round }) => [role, round])).toEqual([
    ['user', 0],
    ['assistant', 0],
    ['tool', 0],
    ['assistant', 1],
  ])
  expect(ran).toBe(1)
})

async function* deaf(): AsyncIterable<ModelEvent> {
  yield { type: 'text.delta', part: 0, text: 'so far' }
  await never()
}

test.each([
  ['a model that cannot be opened', { hangs: 'open' }],
  ['a stream that ignores its signal', { hangs: 'stream' }],
  ['a read that never returns', { hangs: 'read' }],
] as const)('a cancel ends a run that waits for %s', async (_, { hangs }) => {
  const { submit, settled, events, service, key } = await open({
    script: [deaf],
    change: (ports) => ({
      ...ports,
      ...(hangs === 'open' ? { models: { open: never } } : {}),
      reader: hangs === 'read' ? { ...ports.reader, messages: firstHangs(ports.reader.messages) } : ports.reader,
    }),
  })
  const runId = await submit('go')
  await until(() => hangs !== 'stream' || events.some(({ type }) => type === 'text.delta'))
  await service.cancel(key, runId)
  expect(await settled(runId)).toMatchObject({ status: 'cancelled' })
})

test('a model is opened with the hook that reports its errors to operators', async () => {
  const uses: unknown[] = []
  const { submit, settled, key } = await open({
    script: [{ text: 'done' }],
    change: (ports) => ({
      ...ports,
      models: {
        open: (name, use) => {
          uses.push(use)
          return ports.models.open(name, use)
        },
      },
    }),
  })
  const run = await submit('go')
  expect(await settled(run)).toMatchObject({ status: 'completed' })
  expect(uses).toEqual([{ tenant: key.tenant, session: key.session, run }])
})

function firstHangs<Args extends unknown[], Result>(
  work: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  let calls = 0
  return (...args) => (calls++ === 0 ? never() : work(...args))
}

test('a call in a completion truncated by the output limit is not executed, and the model sees why', async () => {
  let ran = 0
  const pay = makeTool('pay', async () => ({ text: `paid ${++ran}` }))
  const cut = completionOf({ calls: [{ name: 'pay', arguments: '' }] })
  const { submit, settled, log, requests } = await open({
    script: [
      async function* () {
        yield { type: 'completion', completion: { ...cut, finishReason: 'length' } }
      },
      async function* () {
        yield { type: 'completion', completion: { ...completionOf({ text: 'half a' }), finishReason: 'length' } }
      },
    ],
    tools: [pay],
  })
  expect(await settled(await submit('go'))).toMatchObject({ status: 'completed', stopReason: 'output_limit' })
  expect([statuses(await log()), ran]).toEqual([['error'], 0])
  expect(JSON.stringify(requests[1]?.messages.at(-1))).toContain('cut off by its output limit')
})

test('a run whose answer is truncated in the last round has the stop reason `output_limit`', async () => {
  const script: readonly Turn[] = [
    async function* () {
      yield { type: 'completion', completion: { ...completionOf({ text: 'half a' }), finishReason: 'length' } }
    },
  ]
  const { submit, settled } = await open({ script, policies: { maxRounds: 0 } })
  expect(await settled(await submit('go'))).toMatchObject({ status: 'completed', stopReason: 'output_limit' })
})

test('a run that kills its process while loading is abandoned after three takeovers, without another load', async () => {
  const loaded: string[] = []
  let ahead = 0
  const clock = {
    now: () => Date.now() + ahead,
    sleep: (milliseconds: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        const timer = setTimeout(resolve, milliseconds)
        signal?.addEventListener('abort', () => {
          clearTimeout(timer)
          reject(signal.reason as Error)
        })
      }),
  }
  const { ports, key, session, service, worker, settled } = await open({
    script: [],
    clock,
    change: (opened) => ({
      ...opened,
      sessions: { ...opened.sessions, read: (of) => (loaded.push('session'), opened.sessions.read(of)) },
      reader: { ...opened.reader, messages: (of, query) => (loaded.push('log'), opened.reader.messages(of, query)) },
    }),
  })
  const { runId } = await service.submit(
    session,
    { parts: [{ type: 'text', text: 'go' }], clientTools: [] },
    { here: false },
  )
  const seen = await ports.lease.readHeader(key)
  if (seen === undefined) throw new Error('there is no session')
  await ports.lease.start(seen, 'dead')
  for (let death = 0; death < 2; death++) {
    ahead += 61_000
    const found = await ports.lease.readHeader(key)
    const taken = found === undefined ? undefined : await ports.lease.take(found, `dead ${death}`)
    if (taken === undefined) throw new Error('it was not taken')
    await ports.lease.claim(taken)
  }
  ahead += 61_000
  await worker.serve(key)
  expect(loaded).toEqual([])
  expect(await settled(runId)).toMatchObject({ status: 'failed', error: { code: 'crashed_repeatedly' } })
})
