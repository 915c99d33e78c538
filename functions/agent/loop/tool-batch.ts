import { DEFAULT_POLICIES } from '../../domain/agent.ts'
import type { Agent, Policies } from '../../domain/agent.ts'
import type { ToolMessage } from '../../domain/message.ts'
import { fitContent } from '../../log/fit-content.ts'
import { READING_TOOLS } from '../../search/documents.ts'
import { refusalOf } from './refusal.ts'
import type { RunState } from './run-state.ts'
import { storeMedia } from './store-media.ts'
import { callOf, openCalls, remember } from './thread.ts'
import type { Thread } from './thread.ts'
import { executeCall, GRACE_MS } from './tool-call.ts'
import type { CallOutcome } from './tool-call.ts'
import { createToolContext } from './tool-context.ts'

/** Calls of one batch that execute at the same time. */
const PARALLEL = 8

/**
 * Executes the thread's open calls that can execute now, and remembers their results, which are then being stored; those that
 * are refused get an error, and waiting ones are left alone. Returns whether there was any. Rejects with the signal's reason
 * when the work must stop: calls that had not begun never begin, and those that had are over, or given up, by then.
 */
export async function executeOpenCalls(state: RunState, thread: Thread): Promise<boolean> {
  await beginApproved(state, thread)
  const rows = openCalls(thread).filter((row) => row.status === 'running')
  const queue = rows.values()
  const worker = async (): Promise<void> => {
    for (const row of queue) remember(thread, [await executeOne(state, thread, row)])
  }
  const workers = await Promise.allSettled(Array.from({ length: Math.min(PARALLEL, rows.length) }, worker))
  for (const one of workers) if (one.status === 'rejected') throw one.reason
  return rows.length > 0
}

/** Calls that a person has allowed are begun durably before they execute. */
async function beginApproved({ store, held }: RunState, thread: Thread): Promise<void> {
  for (const row of openCalls(thread))
    if (row.status === 'approved') remember(thread, [await store.log.beginApproved(held.lease, row.id)])
}

async function executeOne(state: RunState, thread: Thread, row: ToolMessage): Promise<ToolMessage> {
  const { ports, store, held, keeper, signal } = state
  // A process that stood still may not have heard yet that its lease is over.
  keeper.check()
  signal.throwIfAborted()
  const startedAt = ports.clock.now()
  const outcome = await execute(state, thread, row)
  const media = await storeMedia({ ...store, clock: ports.clock }, held.lease, outcome.media ?? [])
  // The generation keeps two executions of one idempotent call apart.
  const at = { messageId: row.id, attempt: String(held.lease.generation) }
  const content = fitContent(at, { ...outcome, media }, limitsOf(thread.agent, row.toolName))
  const completedAt = ports.clock.now()
  const times = { completedAt, durationMs: Math.max(0, completedAt - startedAt) }
  state.writer.write({ row, status: outcome.status, content, ...times })
  return { ...row, status: outcome.status, parts: content.parts, output: content.output, ...times }
}

async function execute(state: RunState, thread: Thread, row: ToolMessage): Promise<CallOutcome> {
  const { ports, store, held, keeper, signal } = state
  const { asked, call } = callOf(thread, row)
  const refusal = refusalOf(thread, asked, row.sequence)
  if (refusal !== undefined) return { status: 'error', text: `error: ${refusal}` }
  const tool = thread.tools.get(call.name)
  const reading = { ...ports, reader: store.reader, outputs: store.outputs }
  const context = createToolContext(reading, { session: held.session, agent: thread.agent, row, signal })
  const met = keeper.expect((tool?.timeoutMs ?? 0) + GRACE_MS)
  try {
    return await executeCall(tool, call, context)
  } finally {
    met()
  }
}

/** What a model reads of an output must not come back as a preview again: the tools that read bound their results themselves. */
function limitsOf({ policies }: Agent, toolName: string): Pick<Policies, 'offloadBytes' | 'previewChars'> {
  if (!READING_TOOLS.includes(toolName)) return policies
  return { ...policies, offloadBytes: Math.max(policies.offloadBytes, DEFAULT_POLICIES.offloadBytes) }
}
