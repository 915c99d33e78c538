import { LeaseLost } from '../../domain/errors.ts'
import { eventId } from '../../domain/events.ts'
import type { RunEvent } from '../../domain/events.ts'
import type { AssistantPart } from '../../domain/message.ts'
import type { Run, RunError } from '../../domain/run.ts'
import { ModelError } from '../../ports/model.ts'
import type { RunEnd } from '../../ports/run-log.ts'
import { CompletionFailed } from './completion-request.ts'
import { RunCancelled } from './lease-keeper.ts'
import type { LoopDependencies } from './loop-dependencies.ts'
import { assistantMessage } from './run-state.ts'
import type { RunState } from './run-state.ts'

/**
 * Ends the run: final message, run state and lease in one write, then its events. A cancel that came in first wins: the run
 * then ends `cancelled`, and what was produced is kept. Rejects with `LeaseLost` when somebody else holds the session now.
 */
export async function endRun({ log, reader }: LoopDependencies, state: RunState, end: RunEnd): Promise<void> {
  const { lease } = state.held
  const ended = (await log.endRun(lease, end)) ?? (await endCancelled())
  if (ended === undefined) throw new LeaseLost(lease.session, lease.generation)
  for (const message of ended.closed)
    state.emit({
      type: 'tool_call.completed',
      id: eventId(message.id, 'tool_call.completed'),
      runId: message.runId,
      message,
    })
  if (end.message !== undefined)
    state.emit({
      type: 'message.completed',
      id: eventId(end.message.id, 'message.completed'),
      runId: lease.runId,
      message: end.message,
    })
  state.emit(endEvent((await reader.run(lease, lease.runId)) ?? ended.run))

  async function endCancelled(): ReturnType<LoopDependencies['log']['endRun']> {
    const reason = await cancelReason(state)
    return log.endRun(lease, {
      outcome: 'cancelled',
      stopReason: reason === 'superseded' ? 'superseded' : 'cancelled',
      ...(end.message === undefined ? {} : { message: end.message }),
    })
  }
}

/** The cancel that kept a write from happening; rejects with `LeaseLost` when it was that instead. */
async function cancelReason(state: RunState): Promise<RunCancelled['reason']> {
  try {
    await state.keeper.poll()
  } catch (error) {
    if (error instanceof RunCancelled) return error.reason
    throw error
  }
  throw new LeaseLost(state.held.lease.session, state.held.lease.generation)
}

/** How a run ends whose loop was stopped by `error`, with what had been produced before. */
export function endAfter(error: unknown, state: RunState, now: number): RunEnd {
  const streamed = error instanceof CompletionFailed ? keptParts(error.streamed) : []
  const cause = error instanceof CompletionFailed ? error.cause : error
  if (cause instanceof RunCancelled)
    return {
      outcome: 'cancelled',
      stopReason: cause.reason === 'superseded' ? 'superseded' : 'cancelled',
      ...(streamed.length === 0
        ? {}
        : { message: assistantMessage(state, now, { parts: streamed, ...modelOf(state), finishReason: 'cancelled' }) }),
    }
  const runError = describe(cause)
  const parts: AssistantPart[] = [...streamed, { type: 'error', code: runError.code, text: runError.message }]
  return {
    outcome: 'failed',
    stopReason: 'error',
    error: runError,
    message: assistantMessage(state, now, { parts, ...modelOf(state), finishReason: 'error' }),
  }
}

const modelOf = (state: RunState): { model?: string } => (state.model.name === '' ? {} : { model: state.model.name })

/** Text and reasoning without their empty parts. */
function keptParts(streamed: readonly AssistantPart[]): AssistantPart[] {
  return streamed.filter((part) => (part.type === 'text' || part.type === 'reasoning') && part.text !== '')
}

function describe(cause: unknown): RunError {
  if (cause instanceof ModelError) return { code: cause.code, message: cause.message, retryable: cause.retryable }
  return { code: 'storage', message: cause instanceof Error ? cause.message : String(cause), retryable: true }
}

function endEvent(run: Run): RunEvent {
  const type = run.status === 'failed' ? 'run.failed' : run.status === 'cancelled' ? 'run.cancelled' : 'run.completed'
  return { type, id: eventId(run.id, type), runId: run.id, run }
}
