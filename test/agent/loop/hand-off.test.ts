/* Evidence, cloud: No function is frozen while a tool ignores its timeout. A later run gets a hint. */
import { afterEach, describe, expect, test } from 'vitest'
import { continueDeletion } from '../../../functions/agent/worker/delete-session.ts'
import { expireSession, serveHint } from '../../../functions/agent/worker/serve-hint.ts'
import { createSystemClock } from '../../../functions/adapters/memory/system-clock.ts'
import type { SessionKey } from '../../../functions/domain/session.ts'
import { makeTool, openHarness } from '../harness.ts'
import type { Harness } from '../harness.ts'

let harness: Harness | undefined
afterEach(async () => {
  await harness?.close()
  harness = undefined
})

/** Creates work that is in progress until the test calls `release`. `begun` resolves when the work starts. */
function gate(): { readonly begun: Promise<void>; readonly release: () => void; readonly pass: () => Promise<void> } {
  let begin = (): void => {}
  let release = (): void => {}
  const begun = new Promise<void>((resolve) => (begin = resolve))
  const open = new Promise<void>((resolve) => (release = resolve))
  return {
    begun,
    release: () => release(),
    pass: () => {
      begin()
      return open
    },
  }
}

const oneCall = { calls: [{ name: 'slow' }] }

test("a hand-off waits for the round's end and returns the session's key; another process finishes the run", async () => {
  const { begun, release, pass } = gate()
  let ran = 0
  const slow = makeTool('slow', async () => {
    ran++
    await pass()
    return { text: 'slept' }
  })
  harness = await openHarness({ script: [oneCall], tools: [slow] })
  const runId = await harness.submit('go')
  await begun
  const left = harness.worker.handOff()
  let over = false
  void left.then(() => (over = true))
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(over).toBe(false)
  release()
  expect(await left).toEqual([harness.key])

  const other = harness.another([{ text: 'done' }])
  await other.worker.serve(harness.key)
  expect([(await other.settled(runId)).status, ran]).toEqual(['completed', 1])
  expect(harness.requests).toHaveLength(1)
})

test('a process executes no run between hand-off and resumption; new work is due and sends a hint', async () => {
  const hints: SessionKey[] = []
  const queue = { send: async (hint: SessionKey) => void hints.push(hint), consume: () => ({ stop: async () => {} }) }
  harness = await openHarness({ script: [{ text: 'one' }], change: (given) => ({ ...given, queue }) })
  const { service, key, ports, worker, session } = harness
  expect(await worker.handOff()).toEqual([])
  const runId = await harness.submit('go')
  await worker.idle()
  expect([(await ports.reader.run(key, runId))?.status, harness.requests]).toEqual(['running', []])
  expect(await ports.janitor.due(ports.clock.now(), 10)).toMatchObject([{ key }])
  expect(hints).toEqual([key])
  worker.resume()
  await service.continue(session, {}, { here: true })
  expect((await harness.settled(runId)).status).toBe('completed')
})

test('a process is idle only when no run is executing', async () => {
  const { begun, release, pass } = gate()
  const slow = makeTool('slow', async () => {
    await pass()
    return { text: 'slept' }
  })
  harness = await openHarness({ script: [oneCall, { text: 'done' }], tools: [slow] })
  await harness.worker.idle()
  await harness.submit('go')
  await begun
  let idle = false
  const waiting = harness.worker.idle().then(() => (idle = true))
  await new Promise((resolve) => setTimeout(resolve, 50))
  expect(idle).toBe(false)
  release()
  await waiting
  expect(harness.events.at(-1)?.type).toBe('run.completed')
})

test('a hint for a deleted session removes its rows; the last step waits for late writers', async () => {
  harness = await openHarness({ script: [{ text: 'done' }] })
  const { ports, worker, key } = harness
  await harness.settled(await harness.submit('go'))
  await ports.deletion.tombstone(key)
  await serveHint({ ...ports, worker }, key, Infinity)
  expect(await ports.deletion.state(key)).toMatchObject({ removed: true, messages: 2 })
  await serveHint({ ...ports, worker }, key, Infinity)
  // The run is still due one lease length later.
  expect(await ports.janitor.due(ports.clock.now() + 61_000, 10)).toMatchObject([{ key }])
})

test("the last step of a deletion removes a late writer's rows, and is then no longer due", async () => {
  harness = await openHarness({ script: [] })
  const { ports, key } = harness
  await ports.deletion.tombstone(key)
  await continueDeletion(ports, key, Infinity)
  const late = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
  await ports.outputs.put(key, late, Buffer.from('late'), 'text/plain')
  expect(await continueDeletion(ports, key, Infinity)).toMatchObject({ removed: true })
  expect(await ports.outputs.stat(key, late)).toBeUndefined()
  expect(await ports.janitor.due(ports.clock.now() + 61_000, 10)).toEqual([])
})

test('a session is deleted, with one hint, only after its TTL has expired', async () => {
  let ahead = 0
  const clock = { ...createSystemClock(), now: () => Date.now() + ahead }
  harness = await openHarness({ script: [], clock })
  const { deletion, sessions } = harness.ports
  const hints: SessionKey[] = []
  const queue = { send: async (hint: SessionKey) => void hints.push(hint) }
  const expiring = { tenant: 'default', session: 'short-lived' }
  await sessions.create({ ...expiring, agent: 'default', metadata: {}, ttlDays: 1 })
  await expireSession({ deletion, queue }, expiring)
  expect([await sessions.read(expiring), hints]).toEqual([expect.anything(), []])
  ahead = 2 * 86_400_000
  await expireSession({ deletion, queue }, expiring)
  expect([await sessions.read(expiring), hints]).toEqual([undefined, [expiring]])
  await expireSession({ deletion, queue }, expiring)
  expect(hints).toHaveLength(1)
})

test('an input and a tool result are accepted and due even if their hint cannot be sent', async () => {
  harness = await openHarness({
    script: [{ calls: [{ id: 'ask-1', name: 'ask' }] }],
    change: (ports) => ({
      ...ports,
      queue: { ...ports.queue, send: () => Promise.reject(new Error('the queue does not respond')) },
    }),
  })
  const { service, key, ports, worker, session } = harness
  const elsewhere = { here: false }
  const parts = [{ type: 'text', text: 'go' } as const]
  const clientTools = [{ name: 'ask', description: '', parameters: {} }]
  const due = async (): Promise<boolean> => (await ports.lease.readHeader(key))?.due !== undefined

  const { runId } = await service.submit(session, { parts, clientTools }, elsewhere)
  expect(await due()).toBe(true)
  await worker.serve(key)
  expect(await due()).toBe(false)
  await service.resolve(session, runId, [{ toolCallId: 'ask-1', output: [{ type: 'text', text: 'yes' }] }], elsewhere)
  expect(await due()).toBe(true)
})

describe('a run that arrives while a worker checks for more work', () => {
  /** Opens a worker that has ended a run and found no more work, but has not stopped yet. */
  async function leaving() {
    const { begun, release, pass } = gate()
    const opened = await openHarness({
      script: [{ text: 'one' }, { text: 'two' }],
      change: (ports) => ({
        ...ports,
        lease: {
          ...ports.lease,
          async readHeader(key) {
            const seen = await ports.lease.readHeader(key)
            if (harness?.events.some(({ type }) => type === 'run.completed') === true) await pass()
            return seen
          },
        },
      }),
    })
    harness = opened
    await opened.settled(await opened.submit('first'))
    await begun
    return { ...opened, release }
  }

  test('is executed by this worker if it starts in this process', async () => {
    const { submit, settled, release } = await leaving()
    const second = await submit('second')
    release()
    expect(await settled(second)).toMatchObject({ status: 'completed' })
  })

  test('makes this worker check again if it sends a hint', async () => {
    const { service, worker, key, settled, release, session } = await leaving()
    const parts = [{ type: 'text', text: 'second' } as const]
    const { runId } = await service.submit(session, { parts, clientTools: [] }, { here: false })
    const served = worker.serve(key)
    release()
    await served
    expect(await settled(runId)).toMatchObject({ status: 'completed' })
  })
})
