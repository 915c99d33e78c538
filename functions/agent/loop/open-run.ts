import { DEFAULT_POLICIES } from '../../domain/agent.ts'
import type { Agent } from '../../domain/agent.ts'
import { LeaseLost } from '../../domain/errors.ts'
import type { ToolMessage } from '../../domain/message.ts'
import { callCompleted } from '../../log/run-events.ts'
import { ModelError } from '../../ports/model.ts'
import { keepLease, RunCancelled } from './lease-keeper.ts'
import { loadLog } from './load-log.ts'
import type { HeldRun, LoopDependencies } from './loop-dependencies.ts'
import { createResultWriter } from './result-writer.ts'
import { endAfter, endRun } from './run-ending.ts'
import type { RunState } from './run-state.ts'
import { createLeader, openCalls, remember } from './thread.ts'

/** Rows that one repair closes at the most: what a DynamoDB transaction can hold beside the header. */
const REPAIRED_AT_ONCE = 90

/**
 * Everything a held run needs to be executed: its agent, its model and tools, its log, repaired, and the lease kept from now
 * on. Returns undefined if the run ended here (no agent or model, cancelled) or the lease was lost.
 */
export async function openRun(ports: LoopDependencies, held: HeldRun): Promise<RunState | undefined> {
  const agent = ports.agents.get(held.run.agent)
  const state = createState(ports, held, agent ?? absentAgent(held.run.agent))
  const { leader } = state
  try {
    rejectCancelled(held)
    remember(leader, await loadLog(ports.reader, held.lease, leader.runId))
    leader.tools = await ports.tools.open(leader.agent)
    await repairCalls(state)
    if (agent === undefined)
      throw new ModelError('invalid_request', `agent ${held.run.agent} is not configured`, { retryable: false })
    leader.model = await ports.models.open(agent.model)
    return state
  } catch (error) {
    try {
      await endRun(state, endAfter(error, state))
    } catch (second) {
      if (!(second instanceof LeaseLost)) throw second
    } finally {
      state.keeper.stop()
    }
    return undefined
  }
}

function createState(ports: LoopDependencies, held: HeldRun, agent: Agent): RunState {
  const { lease, run } = held
  const keeper = keepLease(ports, lease)
  const emit: RunState['emit'] = (event) => ports.emit(lease, event)
  const writer = createResultWriter({ ...ports, lease, emit })
  return {
    ports,
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
  const { ports, held, leader } = state
  const isRepeatable = ({ toolName }: ToolMessage): boolean => leader.tools.get(toolName)?.idempotent === true
  const interrupted = openCalls(leader).filter((row) => row.status === 'running' && !isRepeatable(row))
  for (let at = 0; at < interrupted.length; at += REPAIRED_AT_ONCE) {
    const ids = interrupted.slice(at, at + REPAIRED_AT_ONCE).map((row) => row.id)
    const repaired = await ports.log.repair(held.lease, ids)
    remember(leader, repaired)
    for (const message of repaired) state.emit(callCompleted(message))
  }
}
