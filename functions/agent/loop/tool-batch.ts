import { DEFAULT_POLICIES } from '../../domain/agent.ts'
import type { Agent, Policies } from '../../domain/agent.ts'
import type { ToolCall, ToolMessage } from '../../domain/message.ts'
import type { Session } from '../../domain/session.ts'
import { fitContent } from '../../log/fit-content.ts'
import { READING_TOOLS } from '../../search/documents.ts'
import type { LeaseKeeper } from './lease-keeper.ts'
import type { LoopDependencies } from './loop-dependencies.ts'
import type { ResultWriter } from './result-writer.ts'
import { executeCall } from './tool-call.ts'
import { createToolContext } from './tool-context.ts'

/** Calls of one batch that execute at the same time. */
const PARALLEL = 8

export interface PendingCall {
  readonly row: ToolMessage
  readonly call: ToolCall
  /** Answers the call without executing anything. */
  readonly refusal?: string
}

interface Work {
  readonly session: Session
  readonly agent: Agent
  readonly keeper: Pick<LeaseKeeper, 'check'>
  readonly writer: ResultWriter
  readonly signal: AbortSignal
  /** Keeps two executions of one idempotent call apart. */
  readonly generation: number
}

/**
 * Executes calls that are durable as `running` and answers their rows with results, which are then being stored. Rejects
 * with the signal's reason when the work must stop: calls that had not begun never begin.
 */
export async function executeBatch(
  dependencies: LoopDependencies,
  work: Work,
  calls: readonly PendingCall[],
): Promise<ToolMessage[]> {
  const ended: ToolMessage[] = []
  const queue = calls.values()
  const worker = async (): Promise<void> => {
    for (const pending of queue) ended.push(await executeOne(dependencies, work, pending))
  }
  await Promise.all(Array.from({ length: Math.min(PARALLEL, calls.length) }, worker))
  return ended
}

async function executeOne(
  dependencies: LoopDependencies,
  { session, agent, keeper, writer, signal, generation }: Work,
  { row, call, refusal }: PendingCall,
): Promise<ToolMessage> {
  // A process that stood still may not have heard yet that its lease is over.
  keeper.check()
  signal.throwIfAborted()
  const startedAt = dependencies.clock.now()
  const context = createToolContext(dependencies, { session, agent, row, signal })
  const tool = agent.tools.includes(call.name) ? dependencies.tools.get(call.name) : undefined
  const outcome =
    refusal === undefined
      ? await executeCall(tool, call, context)
      : ({ status: 'error', text: `error: ${refusal}` } as const)
  const content = fitContent({ messageId: row.id, attempt: String(generation) }, outcome, limitsOf(agent, call.name))
  const completedAt = dependencies.clock.now()
  const times = { completedAt, durationMs: Math.max(0, completedAt - startedAt) }
  writer.write({ row, status: outcome.status, content, ...times })
  return { ...row, status: outcome.status, parts: content.parts, output: content.output, ...times }
}

/** What a model reads of an output must not come back as a preview again: the tools that read bound their answers themselves. */
function limitsOf({ policies }: Agent, toolName: string): Pick<Policies, 'offloadBytes' | 'previewChars'> {
  if (!READING_TOOLS.includes(toolName)) return policies
  return { ...policies, offloadBytes: Math.max(policies.offloadBytes, DEFAULT_POLICIES.offloadBytes) }
}
