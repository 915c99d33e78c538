import { definedFields } from '../defined-fields.ts'
import { TooltrailError } from '../errors.ts'
import { STATUS_TEXT } from '../messages/message.ts'
import type { Output, ToolMessage, ToolPart } from '../messages/message.ts'
import type { StoredSource } from '../messages/message.ts'

/**
 * The resolution of a waiting call, as it is stored. `hash` shows whether a later resolution of the call is a
 * repetition or a different one.
 */
export type Resolution =
  | {
      readonly toolCallId: string
      /**
       * Id of the call's row. If absent, the resolution is for the run's latest waiting call with this call id. If no
       * such call waits, it is for the latest call with this id.
       */
      readonly messageId?: string
      readonly kind: 'result'
      readonly status: 'completed' | 'error'
      readonly parts: readonly ToolPart[]
      readonly output?: Output
      readonly sources?: readonly StoredSource[]
      readonly hash: string
    }
  | {
      readonly toolCallId: string
      readonly messageId?: string
      readonly kind: 'approval'
      readonly approved: boolean
      /**
       * The person who decides. Not part of the hash: if two people make the same decision, the first person is
       * recorded.
       */
      readonly by?: string
      readonly hash: string
    }

interface ResolvableRun {
  readonly runId: string
  /** Calls of the run, oldest first. They include all calls with the ids to resolve. */
  readonly calls: readonly ToolMessage[]
  /** Whether the run is the session's active one and is not being cancelled. */
  readonly isOpen: boolean
}

/**
 * Applies resolutions, and returns the changed calls. A resolution that is stored already changes nothing. If one of
 * the resolutions cannot be stored, throws `call_not_found` or `resolution_conflict`, and no resolution is applied.
 */
export function resolvedCalls(
  { runId, calls, isOpen }: ResolvableRun,
  resolutions: readonly Resolution[],
  now: number,
): ToolMessage[] {
  const resolved = new Map<string, ToolMessage>()
  for (const resolution of resolutions) {
    const named = calls
      .filter(({ id, toolCallId }) => toolCallId === resolution.toolCallId && (resolution.messageId ?? id) === id)
      .map((call) => resolved.get(call.id) ?? call)
    const call = waitingCall(runId, named, resolution)
    if (call === undefined) continue
    if (!isOpen)
      throw conflict(`run ${runId} is being cancelled: call ${resolution.toolCallId} takes no result and no decision`)
    resolved.set(call.id, resolvedCall(call, resolution, now))
  }
  return [...resolved.values()]
}

/** Finds the waiting call of a resolution; undefined if the same resolution is stored already. */
function waitingCall(
  runId: string,
  named: readonly ToolMessage[],
  { toolCallId, kind, hash }: Resolution,
): ToolMessage | undefined {
  const call = named.findLast(({ status }) => status === 'waiting') ?? named.at(-1)
  if (call === undefined) throw new TooltrailError('call_not_found', `run ${runId} has no call ${toolCallId}`)
  if (call.status !== 'waiting') {
    if (named.some(({ resolutionHash }) => resolutionHash === hash)) return undefined
    throw conflict(`call ${toolCallId} is already ${call.status}, by another tool result or decision`)
  }
  const needs = kind === 'approval' ? 'approval' : 'result'
  if (call.needs !== needs) throw conflict(`call ${toolCallId} waits for ${call.needs}, not for ${needs}`)
  return call
}

function resolvedCall(call: ToolMessage, resolution: Resolution, now: number): ToolMessage {
  const resolved = { ...call, resolutionHash: resolution.hash }
  // The call began to wait when it was created. The duration is never negative, even if the clocks of two processes
  // differ.
  const durationMs = Math.max(0, now - call.createdAt)
  if (resolution.kind === 'approval') {
    const { approved, by } = resolution
    const decided = { ...resolved, decision: { approved, ...definedFields({ by }), at: now } }
    if (approved) return { ...decided, status: 'approved' }
    return { ...decided, status: 'denied', parts: [{ type: 'text', text: STATUS_TEXT.denied }], completedAt: now }
  }
  const { status, parts, output, sources } = resolution
  return { ...resolved, status, parts, completedAt: now, durationMs, ...definedFields({ output, sources }) }
}

const conflict = (message: string): TooltrailError => new TooltrailError('resolution_conflict', message)
