import { cutBefore } from '../../../domain/session-title.ts'
import { DEFAULT_POLICIES } from '../../../domain/agent.ts'
import type { Agent, Policies } from '../../../domain/agent.ts'
import type { CallProgress } from '../../../domain/events.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { ToolCall, ToolMessage } from '../../../domain/messages/message.ts'
import { MAX_SOURCES, sourceFault } from '../../../domain/messages/source.ts'
import type { Source } from '../../../domain/messages/source.ts'
import { fitContent } from '../../../log/fit-content.ts'
import { READING_TOOLS } from '../../../search/documents/documents.ts'
import { storeToolMedia } from '../../media.ts'
import type { Step, WorkingMember } from '../next-step.ts'
import { warning } from '../notices.ts'
import { recordDecision } from '../record-decision.ts'
import { hasSearched } from '../run-state.ts'
import type { RunState } from '../run-state.ts'
import { callOf, refusalOf, remember } from '../thread.ts'
import type { OpenThread } from '../thread.ts'
import { throttledProgress } from './call-progress.ts'
import { createToolContext, executeCall, GRACE_MS } from './tool-call.ts'
import type { CallOutcome } from './tool-call.ts'

/** Calls of one batch that execute concurrently. */
const PARALLEL = 8

/** Continues the member of a delegate call. Returns its result, or why it stopped before it had one. */
export type RunMember = (member: OpenThread) => Promise<CallOutcome | 'waiting' | 'handed_off'>

/**
 * Executes calls, and adds their results to the thread while they are being stored. Refused calls get an error. Returns
 * `handed_off` if another process must continue a member.
 *
 * Members do not count towards `PARALLEL`: they could block each other. Rejects with the signal's reason when the work
 * must stop. At that time, every started call has finished or is abandoned. No other call starts later.
 */
export async function executeCalls(
  state: RunState,
  thread: OpenThread,
  step: Extract<Step, { type: 'executeCalls' }>,
  runMember: RunMember,
): Promise<'done' | 'handed_off'> {
  const queue = step.calls.values()
  const worker = async (): Promise<'done'> => {
    for (const row of queue) remember(thread, [await executeOne(state, thread, row)])
    return 'done'
  }
  const workers = Array.from({ length: Math.min(PARALLEL, step.calls.length) }, worker)
  const members = step.members.map((working) => continueMember(state, thread, working, runMember))
  const work = [...workers, ...members].map((one) => one.catch((error: unknown) => stopAll(state, error)))
  const ends = await Promise.allSettled(work)
  for (const one of ends) if (one.status === 'rejected') throw one.reason
  return ends.some((one) => one.status === 'fulfilled' && one.value === 'handed_off') ? 'handed_off' : 'done'
}

/** Stops all threads of the run, because a failed run does not wait for its members. */
function stopAll(state: RunState, error: unknown): never {
  state.writer.fail(error)
  throw error
}

async function continueMember(
  state: RunState,
  thread: OpenThread,
  { row, member }: WorkingMember,
  runMember: RunMember,
): Promise<'done' | 'handed_off'> {
  const outcome = await runMember(member)
  if (typeof outcome === 'string') return outcome === 'waiting' ? 'done' : outcome
  const marked = hasSearched(member) ? { ...row, searched: true as const } : row
  remember(thread, [await keepOutcome(state, thread, marked, outcome)])
  thread.members.delete(row.id)
  return 'done'
}

async function executeOne(state: RunState, thread: OpenThread, row: ToolMessage): Promise<ToolMessage> {
  // A process that was suspended may not know yet that its lease has expired.
  state.writer.check()
  const startedAt = state.ports.clock.now()
  return keepOutcome(state, thread, row, await execute(state, thread, row), startedAt)
}

/** Builds the finished row of a call and starts storing it. */
async function keepOutcome(
  state: RunState,
  thread: OpenThread,
  row: ToolMessage,
  outcome: CallOutcome,
  startedAt = row.createdAt,
): Promise<ToolMessage> {
  const { ports, reads, writer } = state
  const { stored: media, leftOut } = await storeToolMedia(reads.outputs, writer.key, outcome.media ?? [])
  const text = [outcome.text, ...leftOut].filter((one) => one !== '').join('\n')
  // The generation separates the outputs of two executions of one idempotent call.
  const at = { messageId: row.id, attempt: String(writer.generation) }
  const sources = await usableSources(state, thread, row, outcome)
  const content = fitContent(at, { ...outcome, text, media, sources }, limitsOf(thread.agent, row.toolName))
  const completedAt = ports.clock.now()
  const times = { completedAt, durationMs: Math.max(0, completedAt - startedAt) }
  const { searched } = row
  writer.storeResult({ row, status: outcome.status, content, ...times, ...definedFields({ searched }) })
  const { parts, output } = content
  return { ...row, status: outcome.status, parts, output, ...definedFields({ sources: content.sources }), ...times }
}

/** Returns the valid sources of a call's outcome. Warns followers of invalid ones. */
async function usableSources(
  state: RunState,
  thread: OpenThread,
  row: ToolMessage,
  outcome: CallOutcome,
): Promise<readonly Source[]> {
  const all = outcome.status === 'completed' ? (outcome.sources ?? []) : []
  const faults = all.map((source, place) => (place < MAX_SOURCES ? sourceFault(source) : 'comes after the 100th'))
  const first = faults.findIndex((fault) => fault !== undefined)
  if (first < 0) return all
  const count = faults.filter((fault) => fault !== undefined).length
  const detail = `${count} of the ${all.length} sources of ${cutBefore(row.call, 200)} were left out: number ${first + 1} ${faults[first]}`
  await recordDecision(state, { notices: [warning(thread, 'sources_dropped', detail)] })
  return all.filter((_, place) => faults[place] === undefined)
}

async function execute(state: RunState, thread: OpenThread, row: ToolMessage): Promise<CallOutcome> {
  const { ports, reads, writer } = state
  const { asked, call } = callOf(thread, row)
  const refusal = refusalOf(thread, asked, row.sequence)
  if (refusal !== undefined) return { status: 'error', text: `error: ${refusal}` }
  const fault = thread.faults.get(row.id)
  thread.faults.delete(row.id)
  if (fault !== undefined) return { status: 'error', text: `error: ${fault}` }
  const tool = thread.tools.get(call.name)
  // Checks the origin of the row as well, because a newer request may have replaced the run's client tools since the round.
  if (row.origin === 'client' || (tool === undefined && isClientTool(state, call)))
    return { status: 'error', text: 'error: not executed here' }
  if (tool?.needsApproval === true && row.needs !== 'approval')
    return { status: 'error', text: `error: ${call.name} needs an approval that was not requested: call it again` }
  const startWatchdog = (): (() => void) => writer.startWatchdog((tool?.timeoutMs ?? 0) + GRACE_MS)
  let done = startWatchdog()
  const report = throttledProgress({ clock: ports.clock, emit: state.emit }, row)
  const progressed = (howFar?: CallProgress): void => {
    done()
    done = startWatchdog()
    if (howFar !== undefined) report(howFar)
  }
  const at = { session: state.session, agent: thread.agent, row, signal: writer.signal, progressed }
  const context = createToolContext({ ...ports, ...reads }, at)
  try {
    return await executeCall(tool, call, context, ports.logger)
  } finally {
    done()
  }
}

const isClientTool = ({ request }: RunState, call: ToolCall): boolean =>
  request.clientTools.some(({ name }) => name === call.name)

/**
 * Output limits of a tool. Tools that read stored outputs limit their results themselves. Such a result must not be offloaded
 * again and replaced by a preview.
 */
function limitsOf({ policies }: Agent, toolName: string): Pick<Policies, 'offloadBytes' | 'previewChars'> {
  if (!READING_TOOLS.includes(toolName)) return policies
  return { ...policies, offloadBytes: Math.max(policies.offloadBytes, DEFAULT_POLICIES.offloadBytes) }
}
