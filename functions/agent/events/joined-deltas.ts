import type { DeltaEvent, RunEvent } from '../../domain/events.ts'

export const isDelta = (event: RunEvent): event is DeltaEvent => event.type.endsWith('.delta')

/** Joins two deltas of the same part into one. Returns undefined for all other events. */
export function joined(last: RunEvent | undefined, next: RunEvent): DeltaEvent | undefined {
  if (last === undefined || !isDelta(last) || !isDelta(next) || !isSameRound(last, next)) return undefined
  if (next.type === 'tool_call.delta') {
    const isSame = last.type === next.type && last.toolCallId === next.toolCallId && last.sequence === next.sequence
    return isSame ? { ...next, arguments: last.arguments + next.arguments } : undefined
  }
  const isSame = last.type === next.type && last.part === next.part
  return isSame ? { ...next, text: last.text + next.text } : undefined
}

const isSameRound = (one: DeltaEvent, other: DeltaEvent): boolean =>
  one.runId === other.runId && one.round === other.round && one.parentMessageId === other.parentMessageId
