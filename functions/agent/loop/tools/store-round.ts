import { definedFields } from '../../../domain/defined-fields.ts'
import { MAX_ROUND_CALLS, parentNames } from '../../../domain/messages/message.ts'
import type { AssistantMessage, ToolCall, ToolMessage } from '../../../domain/messages/message.ts'
import { DELEGATE_TOOL } from '../../../domain/runs/team.ts'
import { callText } from '../../../log/call-text.ts'
import type { Round } from '../../../ports/run-log.ts'
import { checkCalls, warnOfUnchecked } from './call-checks.ts'
import type { CheckedCall } from './call-checks.ts'
import { isReplaced, namespaceOf } from '../model/model-request.ts'
import { countUnlessStored } from '../model/unstored-usage.ts'
import type { Step } from '../next-step.ts'
import { hasSearched } from '../run-state.ts'
import type { RunState } from '../run-state.ts'
import { numbersRecorded } from '../sources/source-counter.ts'
import { refusalOf, remember } from '../thread.ts'
import type { OpenThread } from '../thread.ts'

/**
 * Stores a completion with its calls, each as an open row, in one durable write before the tools run. Calls of client
 * tools, and of tools that need approval, are `waiting`. All others, including refused ones, are `running`. The last
 * completion of a member has no calls. If the write fails, the usage of the completion is counted.
 */
export async function storeRound(state: RunState, thread: OpenThread, message: AssistantMessage): Promise<void> {
  const calls = message.toolCalls.slice(0, MAX_ROUND_CALLS)
  const checks = await countUnlessStored(state, thread, message, async (begins) => {
    const checked = await checkCalls(state, thread, message, calls)
    const { assistant, tools } = await state.writer.storeRound(
      calls.length + 1,
      (ids, position) => {
        const round = roundWith(state, thread, { ...message, position }, { calls, checks: checked, ids })
        begins(round.assistant.id)
        return round
      },
      state.account,
    )
    numbersRecorded(state.sources, thread)
    remember(thread, [assistant, ...tools])
    for (const [sequence, { fault }] of checked.entries())
      if (fault !== undefined) thread.faults.set(tools[sequence]?.id ?? '', fault)
    return checked
  })
  await warnOfUnchecked(state, thread, calls, checks)
}

/** Builds the rows of a round. The first of `ids` is the id of the message, the others are those of its calls. */
function roundWith(
  state: RunState,
  thread: OpenThread,
  message: AssistantMessage,
  { calls, checks, ids }: RowsOf,
): Round {
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
  { tools }: OpenThread,
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
 * Stores the next rows of refused calls: calls beyond `MAX_ROUND_CALLS`, each with an error for the model. They do not fit into
 * the write of their round.
 */
export async function storeRefused(
  state: RunState,
  thread: OpenThread,
  { asked, first }: Extract<Step, { type: 'storeRefused' }>,
): Promise<void> {
  const count = Math.min(MAX_ROUND_CALLS, asked.toolCalls.length - first)
  const build = (ids: readonly string[]) =>
    ids.map((id, place) => refusedCall(state, thread, { asked, sequence: first + place, id }))
  remember(thread, await state.writer.storeRefused(count, build))
}

/** Builds two states of a refused call's row: the running row, and the row with its error. */
function refusedCall(
  state: RunState,
  thread: OpenThread,
  at: Parameters<typeof rowOf>[2],
): { readonly begun: ToolMessage; readonly refused: ToolMessage } {
  const begun = rowOf(state, thread, at)
  const parts = [{ type: 'text' as const, text: `error: ${refusalOf(thread, at.asked, at.sequence)}` }]
  const result = { parts, completedAt: state.ports.clock.now(), durationMs: 0 }
  return { begun, refused: { ...begun, status: 'error', ...result } }
}
