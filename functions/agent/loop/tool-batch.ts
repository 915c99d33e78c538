import { DEFAULT_POLICIES } from '../../domain/agent.ts'
import type { Agent, Policies } from '../../domain/agent.ts'
import type { ToolMessage } from '../../domain/message.ts'
import { fitContent } from '../../log/fit-content.ts'
import { READING_TOOLS } from '../../search/documents.ts'
import type { RunState } from './run-state.ts'
import { storeMedia } from './store-media.ts'
import { callOf, openCalls, remember } from './thread.ts'
import type { Thread } from './thread.ts'
import { executeCall } from './tool-call.ts'
import type { CallOutcome } from './tool-call.ts'
import { createToolContext } from './tool-context.ts'

/** Calls of one batch that execute at the same time. */
const PARALLEL = 8

/**
 * Executes the thread's open calls that can execute now, and remembers their results, which are then being stored; waiting
 * ones are left alone. `refusal`: gives them this error instead of executing them. Returns whether there was any. Rejects with
 * the signal's reason when the work must stop: calls that had not begun never begin.
 */
export async function executeOpenCalls(state: RunState, thread: Thread, refusal?: string): Promise<boolean> {
  await beginApproved(state, thread)
  const rows = openCalls(thread).filter((row) => row.status === 'running')
  const queue = rows.values()
  const worker = async (): Promise<void> => {
    for (const row of queue) remember(thread, [await executeOne(state, thread, row, refusal)])
  }
  await Promise.all(Array.from({ length: Math.min(PARALLEL, rows.length) }, worker))
  return rows.length > 0
}

/** Calls that a person has allowed are begun durably before they execute. */
async function beginApproved({ ports, held }: RunState, thread: Thread): Promise<void> {
  for (const row of openCalls(thread))
    if (row.status === 'approved') remember(thread, [await ports.log.beginApproved(held.lease, row.id)])
}

async function executeOne(
  state: RunState,
  thread: Thread,
  row: ToolMessage,
  refusal: string | undefined,
): Promise<ToolMessage> {
  const { ports, held, keeper, signal } = state
  // A process that stood still may not have heard yet that its lease is over.
  keeper.check()
  signal.throwIfAborted()
  const startedAt = ports.clock.now()
  const outcome: CallOutcome =
    refusal === undefined ? await execute(state, thread, row) : { status: 'error', text: `error: ${refusal}` }
  const media = await storeMedia(ports, held.lease, outcome.media ?? [])
  // The generation keeps two executions of one idempotent call apart.
  const at = { messageId: row.id, attempt: String(held.lease.generation) }
  const content = fitContent(at, { ...outcome, media }, limitsOf(thread.agent, row.toolName))
  const completedAt = ports.clock.now()
  const times = { completedAt, durationMs: Math.max(0, completedAt - startedAt) }
  state.writer.write({ row, status: outcome.status, content, ...times })
  return { ...row, status: outcome.status, parts: content.parts, output: content.output, ...times }
}

function execute(state: RunState, thread: Thread, row: ToolMessage): Promise<CallOutcome> {
  const { ports, held, signal } = state
  const call = callOf(thread, row)
  const context = createToolContext(ports, { session: held.session, agent: thread.agent, row, signal })
  return executeCall(thread.tools.get(call.name), call, context)
}

/** What a model reads of an output must not come back as a preview again: the tools that read bound their results themselves. */
function limitsOf({ policies }: Agent, toolName: string): Pick<Policies, 'offloadBytes' | 'previewChars'> {
  if (!READING_TOOLS.includes(toolName)) return policies
  return { ...policies, offloadBytes: Math.max(policies.offloadBytes, DEFAULT_POLICIES.offloadBytes) }
}
