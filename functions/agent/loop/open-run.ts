import { ModelError } from '../../ports/model.ts'
import type { Model } from '../../ports/model.ts'
import { DEFAULT_POLICIES } from '../../domain/agent.ts'
import type { Agent } from '../../domain/agent.ts'
import { LeaseLost } from '../../domain/errors.ts'
import { keepLease } from './lease-keeper.ts'
import { loadLog } from './load-log.ts'
import type { HeldRun, LoopDependencies } from './loop-dependencies.ts'
import { rejectCancelled, repairCalls } from './resume-run.ts'
import { createResultWriter } from './result-writer.ts'
import { endAfter, endRun } from './run-ending.ts'
import type { RunState } from './run-state.ts'

/**
 * Everything a held run needs to be executed: its agent, its model, its log, repaired, and the lease kept from now on. A run
 * whose agent or model cannot be had ends `failed` with the reason, and one that is to end `cancelled` ends; then, and when the
 * lease is lost meanwhile, it answers undefined.
 */
export async function openRun(dependencies: LoopDependencies, held: HeldRun): Promise<RunState | undefined> {
  const { lease, run, session } = held
  const agent = dependencies.agents.get(run.agent)
  const keeper = keepLease(dependencies, lease)
  const emit: RunState['emit'] = (event) => dependencies.emit(lease, event)
  const writer = createResultWriter({ ...dependencies, lease, emit })
  const signal = AbortSignal.any([keeper.signal, writer.signal])
  const state: RunState = {
    held,
    session,
    agent: agent ?? absentAgent(run.agent),
    model: absentModel(agent?.model ?? ''),
    keeper,
    writer,
    signal,
    messages: [],
    head: lease.head,
    emit,
  }
  try {
    rejectCancelled(state)
    state.messages = await loadLog(dependencies.reader, lease, run.id)
    await repairCalls(dependencies, state)
    if (agent === undefined)
      throw new ModelError('invalid_request', `agent ${run.agent} is not configured`, { retryable: false })
    const model = await dependencies.models.open(agent.model)
    return { ...state, model }
  } catch (error) {
    try {
      await endRun(dependencies, state, endAfter(error, state, dependencies.clock.now()))
    } catch (second) {
      if (!(second instanceof LeaseLost)) throw second
    } finally {
      keeper.stop()
    }
    return undefined
  }
}

const absentAgent = (name: string): Agent => ({
  name,
  model: '',
  modelOptions: {},
  tools: [],
  policies: DEFAULT_POLICIES,
})

function absentModel(name: string): Model {
  return {
    name,
    stream() {
      throw new ModelError('invalid_request', `model ${name} was not opened`, { retryable: false })
    },
  }
}
