import type { ToolMessage } from '../domain/message.ts'

export interface RepairPlan {
  /** May or may not have run: to be closed as `interrupted` before anything else. */
  readonly interrupted: readonly ToolMessage[]
  /** Cut off, of tools that may run again. */
  readonly again: readonly ToolMessage[]
  /** Allowed by a person, never begun. */
  readonly approved: readonly ToolMessage[]
  /** Somebody else answers them. */
  readonly waiting: readonly ToolMessage[]
}

/** What becomes of the calls that a former holder left open (promises T5), each in sequence order. */
export function planRepair(open: readonly ToolMessage[], isIdempotent: (toolName: string) => boolean): RepairPlan {
  const calls = open.toSorted((left, right) => left.round - right.round || left.sequence - right.sequence)
  const running = calls.filter((call) => call.status === 'running')
  return {
    interrupted: running.filter((call) => !isIdempotent(call.toolName)),
    again: running.filter((call) => isIdempotent(call.toolName)),
    approved: calls.filter((call) => call.status === 'approved'),
    waiting: calls.filter((call) => call.status === 'waiting'),
  }
}
