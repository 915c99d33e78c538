import { eventId } from '../../domain/events.ts'
import { planRepair } from '../../log/repair.ts'
import type { RunEnd } from '../../ports/run-log.ts'
import { RunCancelled } from './lease-keeper.ts'
import type { LoopDependencies } from './loop-dependencies.ts'
import { assistantMessage, callOf, openCalls, remember } from './run-state.ts'
import type { RunState } from './run-state.ts'
import type { PendingCall } from './tool-batch.ts'

/** Rows that one repair closes at the most: what a DynamoDB transaction can hold beside the header. */
const REPAIRED_AT_ONCE = 90
/** A run that was taken over this often without a new message ends. */
const MOST_TAKEOVERS = 3

/** Rejects with `RunCancelled` when the run that was found is to end at once. */
export function rejectCancelled(state: RunState): void {
  const cancel = state.held.found?.header.cancel
  if (cancel?.run === state.held.run.id) throw new RunCancelled(cancel.reason)
}

/** How a run ends that crashes every time it is tried; undefined for all others. */
export function endOfCrashLoop(state: RunState, now: number): RunEnd | undefined {
  if ((state.held.found?.header.takeovers ?? 0) < MOST_TAKEOVERS) return undefined
  const error = {
    code: 'crashed_repeatedly',
    message: `the run was taken over ${MOST_TAKEOVERS} times without getting on`,
    retryable: true,
  } as const
  return {
    outcome: 'failed',
    stopReason: 'error',
    error,
    message: assistantMessage(state, now, {
      parts: [{ type: 'error', code: error.code, text: error.message }],
      finishReason: 'error',
    }),
  }
}

/**
 * Repairs what a crash left, durably, before anything else: open calls that may have run and must not run twice become
 * `interrupted`. Calls of idempotent tools stay open, to be executed again.
 */
export async function repairCalls({ log, tools }: LoopDependencies, state: RunState): Promise<void> {
  const { interrupted } = planRepair(openCalls(state), isRepeatable)
  for (let at = 0; at < interrupted.length; at += REPAIRED_AT_ONCE) {
    const ids = interrupted.slice(at, at + REPAIRED_AT_ONCE).map((row) => row.id)
    const repaired = await log.repair(state.held.lease, ids)
    remember(state, repaired)
    for (const message of repaired)
      state.emit({
        type: 'tool_call.completed',
        id: eventId(message.id, 'tool_call.completed'),
        runId: message.runId,
        message,
      })
  }

  function isRepeatable(toolName: string): boolean {
    return state.agent.tools.includes(toolName) && tools.get(toolName)?.idempotent === true
  }
}

/** The open calls that can execute now: allowed ones are begun durably first; waiting ones are left alone. */
export async function callsToExecute({ log }: LoopDependencies, state: RunState): Promise<PendingCall[]> {
  for (const row of openCalls(state))
    if (row.status === 'approved') remember(state, [await log.beginApproved(state.held.lease, row.id)])
  return openCalls(state)
    .filter((row) => row.status === 'running')
    .map((row) => ({ row, call: callOf(state, row) }))
}
