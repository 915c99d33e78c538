import { eventId } from '../../domain/events.ts'
import { MOST_CALLS } from '../../domain/message.ts'
import type { AssistantMessage, ToolCall, ToolMessage } from '../../domain/message.ts'
import { callText } from '../../log/call-text.ts'
import type { LoopDependencies } from './loop-dependencies.ts'
import { allocate, remember } from './run-state.ts'
import type { RunState } from './run-state.ts'
import { parseArguments } from './tool-call.ts'

/**
 * Stores an answer with its calls, each as an open row, in the one durable write that stands before the tools run.
 * `mayWait`: calls of client tools and of tools that need approval wait for somebody else; otherwise all are `running`.
 */
export async function storeRound(
  { log, tools, clock }: LoopDependencies,
  state: RunState,
  message: AssistantMessage,
  mayWait: boolean,
): Promise<void> {
  const { lease, run } = state.held
  const calls = message.toolCalls.slice(0, MOST_CALLS)
  const [id = message.id, ...rowIds] = allocate(state, clock.now(), calls.length + 1)
  const assistant = { ...message, id }
  const rows = calls.map((call, sequence): ToolMessage => {
    const needs = mayWait ? needsOf(call) : undefined
    return {
      id: rowIds[sequence] ?? '',
      role: 'tool',
      runId: run.id,
      agent: message.agent,
      round: message.round,
      createdAt: message.createdAt,
      assistantMessageId: id,
      toolCallId: call.id,
      toolName: call.name,
      call: callText(call),
      sequence,
      status: needs === undefined ? 'running' : 'waiting',
      ...(needs === undefined ? {} : { needs }),
      parts: [],
      generation: lease.generation,
    }
  })
  await log.appendRound(lease, { assistant, tools: rows })
  remember(state, [assistant, ...rows])
  state.emit({ type: 'message.completed', id: eventId(id, 'message.completed'), runId: run.id, message: assistant })
  for (const row of rows)
    state.emit({ type: 'tool_call.started', id: eventId(row.id, 'tool_call.started'), runId: run.id, message: row })

  function needsOf(call: ToolCall): ToolMessage['needs'] {
    if (run.clientTools.some((tool) => tool.name === call.name)) return 'result'
    const needsApproval = state.agent.tools.includes(call.name) && tools.get(call.name)?.needsApproval === true
    // Nobody is asked about a call that cannot be executed: it fails, and the model may mend it.
    return needsApproval && parseArguments(call.arguments) !== undefined ? 'approval' : undefined
  }
}
