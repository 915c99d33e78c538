import { nextIds } from '../../../functions/domain/ids.ts'
import type { AssistantMessage, Message, ToolMessage } from '../../../functions/domain/message.ts'
import type { RunOutcome } from '../../../functions/domain/run.ts'
import { LEASE_MS } from '../../../functions/domain/session.ts'
import type { Lease, SessionHeader } from '../../../functions/domain/session.ts'
import type { Started } from '../../../functions/ports/run-lease.ts'
import type { RunEnd } from '../../../functions/domain/run-changes.ts'
import { allMessages } from '../snapshot.ts'
import type { SessionPorts } from '../stores.ts'
import type { Process } from './processes.ts'
import { codeOf, portsOf } from './harness.ts'
import type { CallKind, Plan, Harness } from './harness.ts'

/** A run taken over this often without a new message is given up. */
const TAKEOVERS = 3

interface Holding {
  /** How many calls are being executed. */
  running: number
  /** The lease is lost or given back: no further tool starts. */
  over: boolean
  readonly harness: Harness
  readonly process: Process
  readonly ports: SessionPorts
  readonly lease: Lease
  readonly plan: Plan
  head: string | undefined
  round: number
  /** Calls to execute. */
  todo: readonly ToolMessage[]
  /** Ids of calls that were waiting when last seen. */
  waiting: readonly string[]
}

/** Runs the loop of a run that was just started, until it ends, pauses or is lost. */
export async function holdStarted(harness: Harness, process: Process, started: Started): Promise<void> {
  const { lease, message } = started
  harness.ghosts.readGeneration = Math.max(harness.ghosts.readGeneration, lease.generation)
  const plan = planOf(message === undefined ? [] : [message])
  const ports = portsOf(harness, process.name)
  await untilLost(process, lease, ports, harness, () =>
    loop({
      harness,
      process,
      ports,
      lease,
      plan,
      head: lease.head,
      round: 0,
      todo: [],
      waiting: [],
      running: 0,
      over: false,
    }),
  )
}

/** Claims a run that was taken, repairs it, and goes on with it. */
export async function holdTaken(harness: Harness, process: Process, taken: Lease): Promise<void> {
  const ports = portsOf(harness, process.name)
  await untilLost(process, taken, ports, harness, async () => {
    const act = { name: 'claim', generation: taken.generation }
    const { lease, header } = await process.write(act, () => ports.lease.claim(taken))
    harness.ghosts.readGeneration = Math.max(harness.ghosts.readGeneration, lease.generation)
    await process.at('read the log')
    const messages = (await allMessages(ports.reader, harness.key)).filter((message) => message.runId === lease.runId)
    const open = messages.filter((message) => message.role === 'tool')
    const holding: Holding = {
      harness,
      process,
      ports,
      lease,
      plan: planOf(messages),
      running: 0,
      over: false,
      head: lease.head,
      round: messages.filter((message) => message.role === 'assistant').length,
      todo: open.filter(
        (row) => row.status === 'approved' || (row.status === 'running' && row.toolName === 'idempotent'),
      ),
      waiting: open.filter((row) => row.status === 'waiting').map((row) => row.id),
    }
    if (header.cancel === undefined) {
      if (header.takeovers >= TAKEOVERS && (await end(holding, 'failed'))) return
      const lost = open.filter((row) => row.status === 'running' && row.toolName !== 'idempotent').map((row) => row.id)
      if (lost.length > 0)
        await process.write({ name: 'repair', generation: lease.generation }, () => ports.log.repair(lease, lost))
    } else holding.todo = []
    await loop(holding)
  })
}

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
    while (await goOn(holding));
  } finally {
    holding.over = true
  }
}

/** One look at the header and what follows from it. Returns false when the lease is gone. */
async function goOn(holding: Holding): Promise<boolean> {
  const { harness, process, ports, lease } = holding
  for (const call of holding.todo) launch(holding, call)
  holding.todo = []
  const isStopped = (header: SessionHeader | undefined): boolean =>
    holding.over || header?.status !== 'live' || header.generation !== lease.generation
  await process.at('poll', () => {
    const { header } = harness.seen
    return holding.running === 0 || isStopped(header) || header?.cancel !== undefined
  })
  const header = await ports.lease.look(harness.key)
  if (header === undefined || isStopped(header)) return false
  if (header.cancel !== undefined) return !(await end(holding, 'cancelled'))
  if (holding.running > 0) return true
  const rows = await Promise.all(holding.waiting.map((id) => ports.reader.message(harness.key, id)))
  const calls = rows.filter((row) => row?.role === 'tool')
  holding.waiting = calls.filter((row) => row.status === 'waiting').map((row) => row.id)
  holding.todo = calls.filter((row) => row.status === 'approved')
  if (holding.todo.length > 0) return true
  if (holding.waiting.length === 0) return !(await betweenRounds(holding, header.queued > 0))
  const act = { name: 'pause', generation: lease.generation }
  return (await process.write(act, () => ports.log.pause(lease))) === undefined
}

/** Returns true when the lease was given back. */
async function betweenRounds(holding: Holding, queued: boolean): Promise<boolean> {
  const { harness, process, ports, lease, plan } = holding
  if (queued) {
    const [steering] = await ports.reader.steering(harness.key, 1)
    if (steering !== undefined) {
      const [id = ''] = nextIds(holding.head, harness.stores.clock.now(), 1)
      const act = { name: 'steer', generation: lease.generation }
      if ((await process.write(act, () => ports.log.steer(lease, steering, id))) !== undefined) holding.head = id
      return false
    }
  }
  if (harness.handOver && !harness.fair) {
    harness.handOver = false
    await process.write({ name: 'hand over', generation: lease.generation }, () => ports.lease.release(lease))
    return true
  }
  const kinds = plan.rounds[holding.round]
  if (kinds === undefined) return end(holding, plan.fails ? 'failed' : 'completed')
  await append(holding, kinds)
  return false
}

async function append(holding: Holding, kinds: readonly CallKind[]): Promise<void> {
  const { process, ports, lease, round, harness } = holding
  const [id = '', ...ids] = nextIds(holding.head, harness.stores.clock.now(), kinds.length + 1)
  const base = { runId: lease.runId, agent: 'helper', round, createdAt: harness.stores.clock.now() }
  const toolCalls = kinds.map((name, n) => ({ id: `${round}-${n}`, name, arguments: '{}' }))
  const assistant: AssistantMessage = { ...base, id, role: 'assistant', parts: [], toolCalls }
  const tools = kinds.map((toolName, sequence): ToolMessage => {
    const needs = toolName === 'client' ? 'result' : toolName === 'approval' ? 'approval' : undefined
    return {
      ...base,
      id: ids[sequence] ?? '',
      role: 'tool',
      assistantMessageId: id,
      toolCallId: `${round}-${sequence}`,
      toolName,
      call: `${toolName}()`,
      sequence,
      status: needs === undefined ? 'running' : 'waiting',
      ...(needs === undefined ? {} : { needs }),
      parts: [],
      generation: lease.generation,
    }
  })
  const act = { name: 'append', generation: lease.generation }
  await process.write(act, () => ports.log.appendRound(lease, { assistant, tools }))
  holding.head = tools.at(-1)?.id ?? id
  holding.round++
  holding.todo = tools.filter((row) => row.status === 'running')
  holding.waiting = tools.filter((row) => row.status === 'waiting').map((row) => row.id)
}

/** Executes a call beside the holder's loop, as calls of a round run beside each other. */
function launch(holding: Holding, call: ToolMessage): void {
  const { harness, process } = holding
  holding.running++
  const name = `${process.name}/${call.sequence}`
  harness.processes.spawn(
    name,
    async (part) => {
      try {
        await execute(holding, part, call)
      } catch (error) {
        if (codeOf(error) !== 'lease_lost') throw error
        holding.over = true
      } finally {
        holding.running--
      }
    },
    process,
  )
}

async function execute(holding: Holding, part: Process, call: ToolMessage): Promise<void> {
  const { harness, ports, lease } = holding
  const { generation } = lease
  if (call.status === 'approved')
    await part.write({ name: 'begin', generation }, () => ports.log.beginApproved(lease, call.id))
  await part.at(`start ${call.toolName}`)
  if (holding.over) return
  harness.ghosts.starts.set(call.id, (harness.ghosts.starts.get(call.id) ?? 0) + 1)
  const result = {
    messageId: call.id,
    status: 'completed',
    parts: [{ type: 'text', text: `by ${part.name}` }],
    completedAt: harness.stores.clock.now(),
    durationMs: 1,
  } as const
  await part.write({ name: 'complete', generation }, () => ports.log.completeCall(lease, result))
}

/** Returns false when a cancel has come in before. */
async function end(holding: Holding, outcome: RunOutcome): Promise<boolean> {
  const { harness, process, ports, lease, round } = holding
  const now = harness.stores.clock.now()
  const [id = ''] = nextIds(holding.head, now, 1)
  const message: AssistantMessage = {
    id,
    runId: lease.runId,
    agent: 'helper',
    round,
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

function planOf(messages: readonly Message[]): Plan {
  const [first] = messages.filter((message) => message.role === 'user')
  const part = first?.parts[0]
  return part?.type === 'text' ? (JSON.parse(part.text) as Plan) : { rounds: [], fails: false }
}
