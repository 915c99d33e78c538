import { definedFields } from '../../domain/defined-fields.ts'
import type { ToolMessage } from '../../domain/messages/message.ts'
import { textOf } from '../../domain/messages/message.ts'
import type { Usage } from '../../domain/usage/usage.ts'
import { noticeData } from '../run-steps/run-step.ts'
import type { RunEnd, RunStep } from '../run-steps/run-step.ts'
import { agUiCallId, createThread } from './thread.ts'
import type { AgUiEvent, Thread } from './thread.ts'

export interface AgUiEvents {
  start(): AgUiEvent[]
  take(step: RunStep): AgUiEvent[]
  end(end: RunEnd): AgUiEvent[]
  /** Ends the open blocks, and reports an error while the run continues. */
  breakOff(reason: { readonly message: string; readonly code: string }): AgUiEvent[]
}

/** The client's ids of the thread and the run, our id of the run, and the protocol version that the client declares. */
interface Names {
  readonly threadId: string
  readonly runId: string
  readonly ours: string
  readonly protocolVersion?: string | undefined
}

/** Converts a run to AG-UI events: the leader's rounds, and each member's rounds as a subagent. */
export function createAgUiEvents({ threadId, runId, ours, protocolVersion }: Names): AgUiEvents {
  const threads = new Map<string, Thread>()
  const threadOf = (step: Exclude<RunStep, { type: 'notice' }>): { thread: Thread; before: AgUiEvent[] } => {
    const id = step.parentMessageId ?? ''
    const known = threads.get(id)
    if (known !== undefined) return { thread: known, before: [] }
    const thread = createThread(ours, step.parentMessageId)
    threads.set(id, thread)
    const start = { type: 'SUBAGENT_STARTED', subagentRunId: id, name: step.agent ?? 'member' }
    return { thread, before: id === '' ? [] : [start] }
  }
  /** Ends all open threads, members first. */
  const closeAll = (suspended: boolean): AgUiEvent[] =>
    [...threads].toReversed().flatMap(([id, thread]) => {
      threads.delete(id)
      const outcome = { type: suspended ? 'suspended' : 'success' }
      return [...thread.close(), ...(id === '' ? [] : [{ type: 'SUBAGENT_FINISHED', subagentRunId: id, outcome }])]
    })
  const ended = (message: ToolMessage): AgUiEvent[] => {
    const member = threads.get(message.id)
    threads.delete(message.id)
    if (member === undefined) return []
    const of = { subagentRunId: message.id }
    const end =
      message.status === 'completed'
        ? { type: 'SUBAGENT_FINISHED', ...of, outcome: { type: 'success' } }
        : { type: 'SUBAGENT_ERROR', ...of, message: textOf(message.parts) }
    return [...member.close(), end]
  }
  return {
    start: () => [{ type: 'RUN_STARTED', threadId, runId }],
    take(step) {
      if (step.type === 'notice') {
        const value = noticeData(step.event)
        return 'message' in value ? [] : [{ type: 'CUSTOM', name: step.event.type, value }]
      }
      const over = step.type === 'call_ended' ? ended(step.message) : []
      const { thread, before } = threadOf(step)
      return [...over, ...before, ...thread.take(step)]
    },
    breakOff: ({ message, code }) => [...closeAll(false), { type: 'RUN_ERROR', message, code }],
    end(end) {
      const { run } = end
      const closed = closeAll(run.status === 'paused')
      if (run.status === 'failed') {
        const { message = 'the run failed', code } = run.error ?? {}
        return [...closed, { type: 'RUN_ERROR', message, ...definedFields({ code }) }]
      }
      const outcome = outcomeOf(end, protocolVersion)
      const finished = { type: 'RUN_FINISHED', threadId, runId, ...definedFields({ outcome }) }
      const usage = usageSince(run.usage, end.usedBefore)
      return [...closed, Object.keys(usage).length === 0 ? finished : { ...finished, usage: [usage] }]
    },
  }
}

/**
 * The outcome of a run. Calls that wait for the client are not listed, because clients before protocol version 1.0
 * reject an outcome with further fields. These clients also reject the type `cancelled`, so they get no outcome for a
 * cancelled run.
 */
function outcomeOf({ run, waiting }: RunEnd, protocolVersion: string | undefined): object | undefined {
  if (run.status === 'cancelled') return protocolVersion === undefined ? undefined : { type: 'cancelled' }
  const approvals = waiting.filter(({ message }) => message.needs === 'approval')
  if (approvals.length > 0)
    return { type: 'interrupt', interrupts: approvals.map(({ message }) => interruptOf(message)) }
  return { type: 'success' }
}

const interruptOf = (message: ToolMessage): object => ({
  id: message.id,
  reason: 'tool_approval',
  message: `Allow ${message.call}?`,
  toolCallId: agUiCallId(message),
  responseSchema: { type: 'object', properties: { approved: { type: 'boolean' } }, required: ['approved'] },
})

function usageSince(used: Usage, before: Usage | undefined): object {
  const since = (field: Exclude<keyof Usage, 'provider'>): number | undefined =>
    used[field] === null ? undefined : Math.max(0, used[field] - (before?.[field] ?? 0))
  const counts = {
    inputTokens: since('inputTokens'),
    outputTokens: since('outputTokens'),
    totalTokens: since('totalTokens'),
    reasoningTokens: since('reasoningTokens'),
    cachedInputTokens: since('cachedInputTokens'),
    cacheWriteInputTokens: since('cacheWriteTokens'),
  }
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== undefined))
}
