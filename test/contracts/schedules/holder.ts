import { nextIds } from '../../../functions/domain/ids.ts'
import type { AssistantMessage } from '../../../functions/domain/messages/message.ts'
import type { RunOutcome } from '../../../functions/domain/runs/run.ts'
import { LEASE_MS } from '../../../functions/domain/session.ts'
import type { Lease, SessionHeader } from '../../../functions/domain/session.ts'
import type { Started } from '../../../functions/ports/run-lease.ts'
import type { RunEnd } from '../../../functions/domain/runs/run-changes.ts'
import { allMessages } from '../snapshot.ts'
import type { SessionPorts } from '../stores.ts'
import { haveNews, isHandedOver, launch } from './calls.ts'
import type { Process } from './processes.ts'
import { codeOf, portsOf } from './harness.ts'
import type { Harness } from './harness.ts'
import { lostCalls, newThread, planOf, storeRound, threadsIn, threadsOf } from './threads.ts'
import type { Holding, Thread } from './threads.ts'

/** Maximum number of takeovers without a new message. At this number, the next holder ends the run as failed. */
const TAKEOVERS = 3

/** Runs the loop of a run that was just started, until it ends, pauses or is lost. */
export async function holdStarted(harness: Harness, process: Process, started: Started): Promise<void> {
  const { lease, message } = started
  harness.ghosts.readGeneration = Math.max(harness.ghosts.readGeneration, lease.generation)
  const leader = newThread(planOf(message === undefined ? [] : [message]))
  const ports = portsOf(harness, process.name)
  await untilLost(process, lease, ports, harness, () => loop(hold(harness, process, lease, leader)))
}

/** Claims a run that was taken, repairs it, and continues it. */
export async function holdTaken(harness: Harness, process: Process, taken: Lease): Promise<void> {
  const ports = portsOf(harness, process.name)
  await untilLost(process, taken, ports, harness, async () => {
    const act = { name: 'claim', generation: taken.generation }
    const { lease, header } = await process.write(act, () => ports.lease.claim(taken))
    harness.ghosts.readGeneration = Math.max(harness.ghosts.readGeneration, lease.generation)
    await process.at('read the log')
    const messages = (await allMessages(ports.reader, harness.key)).filter((message) => message.runId === lease.runId)
    const holding = hold(harness, process, lease, threadsIn(messages))
    if (header.cancel === undefined) {
      if (header.takeovers >= TAKEOVERS && (await end(holding, 'failed'))) return
      const lost = lostCalls(messages).map((row) => row.id)
      if (lost.length > 0)
        await process.write({ name: 'repair', generation: lease.generation }, () => ports.log.repair(lease, lost))
    } else holding.stopping = true
    await loop(holding)
  })
}

const hold = (harness: Harness, process: Process, lease: Lease, leader: Thread): Holding => ({
  harness,
  process,
  ports: portsOf(harness, process.name),
  lease,
  leader,
  head: lease.head,
  extending: false,
  stopping: false,
  over: false,
})

async function untilLost(
  process: Process,
  lease: Lease,
  ports: SessionPorts,
  { stores: { clock } }: Harness,
  work: () => Promise<void>,
): Promise<void> {
  process.holding = {
    generation: lease.generation,
    beat: () => {
      const until = clock.now() + LEASE_MS
      return () => ports.lease.heartbeat(lease, until)
    },
  }
  try {
    await work()
  } catch (error) {
    if (codeOf(error) !== 'lease_lost') throw error
  } finally {
    delete process.holding
  }
}

async function loop(holding: Holding): Promise<void> {
  try {
    while (await resume(holding));
  } finally {
    holding.over = true
  }
}

/** Reads the header and acts on it. Returns false if the lease is lost. */
async function resume(holding: Holding): Promise<boolean> {
  const { harness, process, ports, lease, leader } = holding
  if (leader.running === 0 && !holding.stopping) launch(holding, process, leader)
  const isStopped = (header: SessionHeader | undefined): boolean =>
    holding.over || header?.status !== 'live' || header.generation !== lease.generation
  await process.at('poll', () => {
    const { header } = harness.seen
    return leader.running === 0 || isStopped(header) || header?.cancel !== undefined
  })
  const header = await ports.lease.readHeader(harness.key)
  if (header === undefined || isStopped(header)) return false
  if (header.cancel !== undefined) {
    holding.stopping = true
    await process.at('wait for what is being stored', () => !holding.extending)
    return !(await end(holding, 'cancelled'))
  }
  if (leader.running > 0 || (await haveNews(holding))) return true
  const threads = [...threadsOf(leader)]
  if (threads.every(({ waiting }) => waiting.length === 0)) return !(await betweenRounds(holding, header.queued > 0))
  const act = { name: 'pause', generation: lease.generation }
  return (await process.write(act, () => ports.log.pause(lease))) === undefined
}

/**
 * Acts between two rounds: stores a steering input, hands off, ends the run, or starts the next round. Returns true if the
 * lease was released.
 */
async function betweenRounds(holding: Holding, queued: boolean): Promise<boolean> {
  const { harness, process, ports, lease, leader } = holding
  const { plan } = leader
  if (queued && leader.members.size === 0) {
    const [steering] = await ports.reader.steering(harness.key, 1)
    if (steering !== undefined) {
      const [id = ''] = nextIds(holding.head, harness.stores.clock.now(), 1)
      const act = { name: 'steer', generation: lease.generation }
      if ((await process.write(act, () => ports.log.steer(lease, steering, id))) !== undefined) holding.head = id
      return false
    }
  }
  if (isHandedOver(holding)) {
    harness.handOff = false
    await process.write({ name: 'hand off', generation: lease.generation }, () => ports.lease.release(lease))
    return true
  }
  // The hand-off is no longer requested, so the members continue.
  if (leader.members.size > 0) return false
  const calls = plan.rounds[leader.round]
  if (calls === undefined) return end(holding, plan.fails ? 'failed' : 'completed')
  await storeRound(holding, process, leader, calls)
  return false
}

/** Ends the run with this outcome. Returns false if a cancel was stored first. */
async function end(holding: Holding, outcome: RunOutcome): Promise<boolean> {
  const { harness, process, ports, lease, leader } = holding
  const now = harness.stores.clock.now()
  const [id = ''] = nextIds(holding.head, now, 1)
  const message: AssistantMessage = {
    id,
    runId: lease.runId,
    agent: 'helper',
    round: leader.round,
    createdAt: now,
    role: 'assistant',
    parts: [{ type: 'text', text: outcome }],
    toolCalls: [],
  }
  const stopReason = outcome === 'completed' ? 'answer' : outcome === 'failed' ? 'error' : 'cancelled'
  const runEnd: RunEnd = { outcome, stopReason, message }
  const act = { name: `end ${outcome}`, generation: lease.generation }
  return (await process.write(act, () => ports.log.endRun(lease, runEnd))) !== undefined
}
