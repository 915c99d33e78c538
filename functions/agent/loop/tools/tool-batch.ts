import { cutBefore } from '../../../domain/session-title.ts'
import { DEFAULT_POLICIES } from '../../../domain/agent.ts'
import type { Agent, Policies } from '../../../domain/agent.ts'
import type { CallProgress } from '../../../domain/events.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import { MAX_ROUND_CALLS, parentNames } from '../../../domain/messages/message.ts'
import type { AssistantMessage, ToolCall, ToolMessage } from '../../../domain/messages/message.ts'
import { MAX_SOURCES, sourceFault } from '../../../domain/messages/source.ts'
import type { Source } from '../../../domain/messages/source.ts'
import { DELEGATE_TOOL } from '../../../domain/runs/team.ts'
import { callText } from '../../../log/call-text.ts'
import { fitContent } from '../../../log/fit-content.ts'
import type { Round } from '../../../ports/run-log.ts'
import { READING_TOOLS } from '../../../search/documents/documents.ts'
import { storeToolMedia } from '../../media.ts'
import { checkCalls, warnOfUnchecked } from './call-checks.ts'
import type { CheckedCall } from './call-checks.ts'
import { recordDecision } from '../record-decision.ts'
import { accountOf, hasSearched } from '../run-state.ts'
import type { RunState } from '../run-state.ts'
import { numbersRecorded } from '../sources/source-counter.ts'
import { callOf, memberNames, openCalls, ownMessages, refusalOf, remember } from '../thread.ts'
import type { Thread } from '../thread.ts'
import { throttledProgress } from './call-progress.ts'
import { createToolContext, executeCall, GRACE_MS } from './tool-call.ts'
import type { CallOutcome } from './tool-call.ts'
import { isReplaced, namespaceOf } from '../model/model-request.ts'

/** Calls of one batch that execute concurrently. */
const PARALLEL = 8

/**
 * Stores a completion with its calls, each as an open row, in one durable write before the tools run. Calls of client
 * tools, and of tools that need approval, are `waiting`. All others, including refused ones, are `running`. The last
 * completion of a member has no calls.
 */
export async function storeRound(state: RunState, thread: Thread, message: AssistantMessage): Promise<void> {
  const calls = message.toolCalls.slice(0, MAX_ROUND_CALLS)
  const checks = await checkCalls(state, thread, message, calls)
  const { assistant, tools } = await state.writer.storeRound(
    calls.length + 1,
    (ids, position) => {
      const round = roundWith(state, thread, { ...message, position }, { calls, checks, ids })
      thread.storing = round.assistant.id
      return round
    },
    accountOf(state),
  )
  numbersRecorded(state.sources, thread)
  remember(thread, [assistant, ...tools])
  for (const [sequence, { fault }] of checks.entries())
    if (fault !== undefined) thread.faults.set(tools[sequence]?.id ?? '', fault)
  await storeRefused(state, thread)
  await warnOfUnchecked(state, thread, calls, checks)
}

/** Builds the rows of a round. The first of the ids is the message's. */
function roundWith(state: RunState, thread: Thread, message: AssistantMessage, { calls, checks, ids }: RowsOf): Round {
  const [id = message.id, ...rowIds] = ids
  const assistant = { ...message, id }
  const isDelegation = ({ name }: ToolCall): boolean => name === DELEGATE_TOOL && hasSearched(thread)
  const rows = calls.map((call, sequence): ToolMessage => {
    const { needs } = checks[sequence] ?? {}
    const begun = rowOf(state, thread, { asked: assistant, sequence, id: rowIds[sequence] ?? '' })
    const row = isDelegation(call) ? { ...begun, searched: true as const } : begun
    return needs === undefined ? row : { ...row, status: 'waiting', needs }
  })
  return { assistant, tools: rows }
}

interface RowsOf {
  readonly calls: readonly ToolCall[]
  readonly checks: readonly CheckedCall[]
  readonly ids: readonly string[]
}

/** Builds the running row of a message's call. */
function rowOf(
  { writer, request }: RunState,
  { tools }: Thread,
  { asked, sequence, id }: { readonly asked: AssistantMessage; readonly sequence: number; readonly id: string },
): ToolMessage {
  const call = asked.toolCalls[sequence] ?? { id: '', name: '', arguments: '' }
  return {
    id,
    role: 'tool',
    runId: asked.runId,
    agent: asked.agent,
    ...parentNames(asked),
    round: asked.round,
    createdAt: asked.createdAt,
    assistantMessageId: asked.id,
    toolCallId: call.id,
    toolName: call.name,
    call: callText(call),
    sequence,
    status: 'running',
    ...(isReplaced(tools, request.clientTools, call.name) ? { origin: 'client' } : {}),
    ...definedFields({ namespace: namespaceOf(tools, request.clientTools, call.name) }),
    parts: [],
    generation: writer.generation,
  }
}

/**
 * Stores the rows that did not fit into the write of the thread's last round: calls beyond `MAX_ROUND_CALLS`, each with
 * an error for the model. Does nothing if all rows are stored. After a crash, the next holder stores the missing rows.
 */
export async function storeRefused(state: RunState, thread: Thread): Promise<void> {
  const asked = ownMessages(thread).findLast((message) => message.role === 'assistant')
  if (asked === undefined || asked.toolCalls.length <= MAX_ROUND_CALLS) return
  const rows = ownMessages(thread).filter((one) => one.role === 'tool' && one.assistantMessageId === asked.id)
  for (let first = rows.length; first < asked.toolCalls.length; first += MAX_ROUND_CALLS) {
    const count = Math.min(MAX_ROUND_CALLS, asked.toolCalls.length - first)
    const build = (ids: readonly string[]) =>
      ids.map((id, place) => refusedCall(state, thread, { asked, sequence: first + place, id }))
    remember(thread, await state.writer.storeRefused(count, build))
  }
}

/** Builds the row of a refused call: when it began, and with its error. */
function refusedCall(
  state: RunState,
  thread: Thread,
  at: Parameters<typeof rowOf>[2],
): { readonly begun: ToolMessage; readonly refused: ToolMessage } {
  const begun = rowOf(state, thread, at)
  const parts = [{ type: 'text' as const, text: `error: ${refusalOf(thread, at.asked, at.sequence)}` }]
  const result = { parts, completedAt: state.ports.clock.now(), durationMs: 0 }
  return { begun, refused: { ...begun, status: 'error', ...result } }
}

/** Runs the member of a delegate call. Returns undefined while it waits or must be handed off. */
export type Delegate = (member: Thread) => Promise<CallOutcome | undefined>

/**
 * Executes the thread's open calls that can execute now, and adds their results to the thread while they are being
 * stored. Refused calls get an error; waiting calls are skipped. Returns whether any call was executed or refused.
 *
 * Members do not count towards `PARALLEL`: they could block each other. Rejects with the signal's reason when the work
 * must stop. At that time, every started call has finished or is abandoned. No other call starts later.
 */
export async function executeOpenCalls(state: RunState, thread: Thread, delegate: Delegate): Promise<boolean> {
  await beginApproved(state, thread)
  // Imported on demand, with the first agent that has a team.
  if (thread.tools.has(DELEGATE_TOOL)) await (await import('../members/delegation.ts')).storeTasks(state, thread)
  const rows = openCalls(thread).filter((row) => row.status === 'running')
  const queue = rows.filter(({ id }) => !thread.members.has(id)).values()
  const worker = async (): Promise<void> => {
    for (const row of queue) remember(thread, [await executeOne(state, thread, row)])
  }
  const members = rows.flatMap((row) => {
    const member = thread.members.get(row.id)
    return member === undefined ? [] : [delegateOne(state, thread, row, { member, delegate })]
  })
  const workers = Array.from({ length: Math.min(PARALLEL, rows.length) }, worker)
  const work = [...workers, ...members].map((one) => one.catch((error: unknown) => stopAll(state, error)))
  for (const one of await Promise.allSettled(work)) if (one.status === 'rejected') throw one.reason
  return rows.length > 0
}

/** Stops the other threads too: when the run fails, it does not wait for its members. */
function stopAll(state: RunState, error: unknown): never {
  state.writer.fail(error)
  throw error
}

async function delegateOne(
  state: RunState,
  thread: Thread,
  row: ToolMessage,
  { member, delegate }: { readonly member: Thread; readonly delegate: Delegate },
): Promise<void> {
  const outcome = await delegate(member)
  if (outcome === undefined) return
  const marked = hasSearched(member) ? { ...row, searched: true as const } : row
  remember(thread, [await keepOutcome(state, thread, marked, outcome)])
  thread.members.delete(row.id)
}

/** Marks approved calls as running, durably, before they execute. */
async function beginApproved({ writer }: RunState, thread: Thread): Promise<void> {
  for (const row of openCalls(thread))
    if (row.status === 'approved') remember(thread, [await writer.beginApproved(row.id)])
}

async function executeOne(state: RunState, thread: Thread, row: ToolMessage): Promise<ToolMessage> {
  // A process that was suspended may not know yet that its lease has expired.
  state.writer.check()
  const startedAt = state.ports.clock.now()
  return keepOutcome(state, thread, row, await execute(state, thread, row), startedAt)
}

/** Builds the finished row of a call and starts storing it. */
async function keepOutcome(
  state: RunState,
  thread: Thread,
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
  thread: Thread,
  row: ToolMessage,
  outcome: CallOutcome,
): Promise<readonly Source[]> {
  const all = outcome.status === 'completed' ? (outcome.sources ?? []) : []
  const faults = all.map((source, place) => (place < MAX_SOURCES ? sourceFault(source) : 'comes after the 100th'))
  const first = faults.findIndex((fault) => fault !== undefined)
  if (first < 0) return all
  const count = faults.filter((fault) => fault !== undefined).length
  const detail = `${count} of the ${all.length} sources of ${cutBefore(row.call, 200)} were left out: number ${first + 1} ${faults[first]}`
  const notice = { type: 'warning', code: 'sources_dropped', detail, ...memberNames(thread) } as const
  await recordDecision(state, { notices: [notice] })
  return all.filter((_, place) => faults[place] === undefined)
}

async function execute(state: RunState, thread: Thread, row: ToolMessage): Promise<CallOutcome> {
  const { ports, reads, writer } = state
  const { asked, call } = callOf(thread, row)
  const refusal = refusalOf(thread, asked, row.sequence)
  if (refusal !== undefined) return { status: 'error', text: `error: ${refusal}` }
  const fault = thread.faults.get(row.id)
  thread.faults.delete(row.id)
  if (fault !== undefined) return { status: 'error', text: `error: ${fault}` }
  const tool = thread.tools.get(call.name)
  // The run's tools alone do not decide this, because a newer request may have replaced them since the round.
  if (row.origin === 'client' || (tool === undefined && isClientTool(state, call)))
    return { status: 'error', text: 'error: not executed here' }
  if (tool?.needsApproval === true && row.needs !== 'approval')
    return { status: 'error', text: `error: ${call.name} needs an approval that was not requested: call it again` }
  const startWatchdog = (): (() => void) => writer.startWatchdog((tool?.timeoutMs ?? 0) + GRACE_MS)
  let done = startWatchdog()
  const report = throttledProgress(state, row)
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
