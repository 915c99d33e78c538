import type { RunEvent } from '../../../../functions/domain/events.ts'
import { nextIds } from '../../../../functions/domain/ids.ts'
import type { Run } from '../../../../functions/domain/runs/run.ts'
import { newRun } from '../../session-fixture.ts'
import type { Process } from '../processes.ts'
import { channelsOf, followerOf } from './channels.ts'
import { clockOf, inSteps, silentLogger } from './world.ts'
import type { World } from './world.ts'

/** Rows removed per step. A small number gives a deletion several steps, which can be interrupted. */
const ROWS = 2

/** Starts a process that delivers rows of the runs it executes, and of sessions named in hints. */
export function startDriver(world: World, name: string): void {
  const { processes, stores, code } = world
  processes.spawn(name, async (process) => {
    const outbox = inSteps(world, process, stores.outbox, ['add', 'change'])
    const driver = code.createDeliveryDriver({
      outbox,
      reader: inSteps(world, process, { run: stores.reader.run }, []),
      follow: followerOf(world, process),
      channels: channelsOf(world, process, outbox),
      clock: clockOf(world, process),
      logger: silentLogger,
    })
    world.drivers.set(name, driver)
    for (;;) {
      await process.at('a hint', () => world.hints > 0 && world.drivers.get(name) === driver)
      world.hints--
      // If the hint fails, a sweep repeats it.
      driver.serve(world.key).catch(() => undefined)
    }
  })
}

export function startSweeper(world: World, name: string): void {
  const { processes, stores, code } = world
  processes.spawn(name, async (process) => {
    const outbox = inSteps(world, process, stores.outbox, ['change'])
    const queue = { send: async () => void world.hints++ }
    const clock = clockOf(world, process)
    let isSweeping = false
    const isDue = (): boolean => [...world.rows.values()].some(({ due }) => due !== undefined && due <= clock.now())
    for (;;) {
      await process.at('sweeps', () => !isSweeping && isDue())
      isSweeping = true
      code
        .hintDueDeliveries({ outbox, queue, clock, logger: silentLogger })
        .catch(() => undefined)
        .finally(() => void (isSweeping = false))
    }
  })
}

/** Sends each input twice. The repeated input adds no delivery. */
export async function accept(world: World, process: Process, kinds: readonly string[]): Promise<void> {
  for (const [number, kind] of kinds.entries()) {
    const idempotency = { keyHash: `key-${number}`, bodyHash: 'body' }
    const run = newRun({ delivery: { kind, target: { number } }, idempotency })
    for (let time = 0; time < 2; time++) {
      await process.at('accepts a run')
      if (world.deletion !== 'none') return
      const { runId } = await world.stores.inbox.enqueue(world.key, run)
      if (time === 0) world.runs.push(runId)
    }
  }
}

/** Executes the runs one after the other, and passes their events to one of the delivering processes. */
export async function execute(world: World, process: Process): Promise<void> {
  const { lease, log } = world.stores
  for (let done = 0; ; done++) {
    await process.at('starts a run', () => world.runs.length > done)
    const header = await lease.readHeader(world.key)
    const started = header?.status === 'live' ? await lease.start(header, process.name) : undefined
    if (started === undefined) return
    const { run } = started
    show(world, done, 'run.started', run)
    await process.at('another takes the run over')
    show(world, done + 1, 'run.resumed', run)
    await process.at('ends the run')
    if (world.deletion !== 'none') return
    const [id = ''] = nextIds(started.message?.id, world.stores.clock.now(), 1)
    const said = { id, runId: run.id, agent: 'helper', round: 1, createdAt: 0, parts: [], toolCalls: [] }
    const message = { ...said, role: 'assistant' } as const
    await log.endRun(started.lease, { outcome: 'completed', stopReason: 'answer', message })
    world.ended.add(run.id)
    const ended = await world.stores.reader.run(world.key, run.id)
    if (ended !== undefined) show(world, done + 2, 'run.completed', ended)
  }
}

/** Passes an event of the run to one of the delivering processes. Successive events may go to different processes. */
function show(
  { key, drivers }: World,
  number: number,
  type: 'run.started' | 'run.resumed' | 'run.completed',
  run: Run,
): void {
  const driver = [...drivers.values()][number % drivers.size]
  driver?.observe(key, { type, id: `${run.id}:${type}`, runId: run.id, run } as RunEvent)
}

/** Deletes the session with its pending deliveries. */
export async function remove(world: World, process: Process): Promise<void> {
  const { deletion } = world.stores
  await process.at('deletes the session')
  await deletion.tombstone(world.key)
  world.deletion = 'begun'
  for (let more = true; more;) {
    await process.at('removes rows')
    ;({ more } = await deletion.removeRows(world.key, ROWS))
  }
  world.deletion = 'done'
}
