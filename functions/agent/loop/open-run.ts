import { DEFAULT_POLICIES } from '../../domain/agent.ts'
import type { Agent } from '../../domain/agent.ts'
import type { ToolMessage } from '../../domain/message.ts'
import { callCompleted } from '../../log/run-events.ts'
import { ModelError } from '../../ports/model.ts'
import { insistentStore } from './insist.ts'
import { keepLease, RunCancelled } from './lease-keeper.ts'
import { loadLog } from './load-log.ts'
import type { HeldRun, LoopDependencies } from './loop-dependencies.ts'
import { createResultWriter } from './result-writer.ts'
import { endOfCrashLoop, endRun, stopAfter } from './run-ending.ts'
import type { RunState } from './run-state.ts'
import { createLeader, openCalls, remember } from './thread.ts'
import { raceAbort, TimedOut, withinTime } from './time-limit.ts'

/** Milliseconds that it may take to open a model, or an agent's tools. */
const OPEN_MS = 30_000
/** Rows that one repair closes at the most: what a DynamoDB transaction can hold beside the header. */
const REPAIRED_AT_ONCE = 90

/**
 * Everything a held run needs to be executed: its agent, its model and tools, its log, repaired, and the lease kept from now
 * on. Returns undefined if the run ended here (no agent or model, cancelled) or the lease was lost.
 */
export async function openRun(ports: LoopDependencies, held: HeldRun): Promise<RunState | undefined> {
  const agent = ports.agents.get(held.run.agent)
  const state = createState(ports, held, agent ?? absentAgent(held.run.agent))
  try {
    rejectCancelled(held)
    // Before anything that can take long, or be what it crashes of.
    const crashLoop = endOfCrashLoop(state)
    if (crashLoop === undefined) {
      await openLeader(state, agent)
      return state
    }
    await endRun(state, crashLoop)
  } catch (error) {
    await stopAfter(state, error)
  }
  state.keeper.stop()
  return undefined
}

async function openLeader(state: RunState, agent: Agent | undefined): Promise<void> {
  const { ports, store, held, leader, keeper } = state
  const inTime = async <Result>(who: string, open: () => Promise<Result>): Promise<Result> => {
    const met = keeper.expect(OPEN_MS)
    try {
      return await raceAbort(withinTime(OPEN_MS, who, open), state.signal)
    } finally {
      met()
    }
  }
  remember(leader, await loadLog(store.reader, held.lease, leader.runId))
  leader.tools = await inTime('the registry of tools', () => ports.tools.open(leader.agent))
  await repairCalls(state)
  if (agent === undefined)
    throw new ModelError('invalid_request', `agent ${held.run.agent} is not configured`, { retryable: false })
  try {
    leader.model = await inTime(`opening model ${agent.model}`, () => ports.models.open(agent.model))
  } catch (error) {
    if (error instanceof TimedOut) throw new ModelError('timeout', error.message, { retryable: true, cause: error })
    throw error
  }
}

function createState(ports: LoopDependencies, held: HeldRun, agent: Agent): RunState {
  const { lease, run } = held
  const keeper = keepLease(ports, lease)
  const store = insistentStore(ports, { keeper, clock: ports.clock })
  const emit: RunState['emit'] = (event) => ports.emit(lease, event)
  const writer = createResultWriter({ ...store, lease, emit })
  return {
    ports,
    store,
    held,
    leader: createLeader(run.id, agent),
    keeper,
    writer,
    signal: AbortSignal.any([keeper.signal, writer.signal]),
    head: lease.head,
    emit,
  }
}

const absentAgent = (name: string): Agent => ({
  name,
  model: '',
  modelOptions: {},
  tools: [],
  policies: DEFAULT_POLICIES,
})

/** Throws `RunCancelled` when the run that was found is to end at once. */
function rejectCancelled({ found, run }: HeldRun): void {
  const cancel = found?.header.cancel
  if (cancel?.run === run.id) throw new RunCancelled(cancel.reason)
}

/**
 * Repairs what a crash left, durably, before anything else: open calls that may have run and must not run twice become
 * `interrupted`. Calls of idempotent tools stay open, to be executed again.
 */
async function repairCalls(state: RunState): Promise<void> {
  const { store, held, leader } = state
  const isRepeatable = ({ toolName }: ToolMessage): boolean => leader.tools.get(toolName)?.idempotent === true
  const interrupted = openCalls(leader).filter((row) => row.status === 'running' && !isRepeatable(row))
  for (let at = 0; at < interrupted.length; at += REPAIRED_AT_ONCE) {
    const ids = interrupted.slice(at, at + REPAIRED_AT_ONCE).map((row) => row.id)
    const repaired = await store.log.repair(held.lease, ids)
    remember(leader, repaired)
    for (const message of repaired) state.emit(callCompleted(message))
  }
}
