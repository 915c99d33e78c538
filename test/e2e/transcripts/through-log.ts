import { yieldToEventLoop } from '../../../functions/domain/time/yield-to-event-loop.ts'
import { nextId } from '../../../functions/domain/ids.ts'
import type { AssistantMessage, ToolCall, ToolMessage, UserPart } from '../../../functions/domain/messages/message.ts'
import { HEARTBEAT_MS, LEASE_MS } from '../../../functions/domain/session.ts'
import type { Lease, SessionKey } from '../../../functions/domain/session.ts'
import { DEFAULT_POLICIES } from '../../../functions/domain/agent.ts'
import { callText } from '../../../functions/log/call-text.ts'
import { fitContent } from '../../../functions/log/fit-content.ts'
import type { Ports } from '../../../functions/runtime/program.ts'
import type { Conversation, RecordedMessage } from './recorded.ts'
import { callsOf, plainText, resultsOf, sessionOf, strayResultsAfter } from './recorded.ts'

interface Import {
  readonly ports: Ports
  readonly key: SessionKey
  readonly conversation: Conversation
  lease: Lease | undefined
  /** Time at which the lease was acquired or last renewed. */
  keptAt: number
  round: number
  head: string | undefined
}

/** Writes a conversation through the ports of inbox, lease and log. This allows any shape of log. */
export async function importConversation(ports: Ports, tenant: string, conversation: Conversation): Promise<void> {
  const { id, messages } = conversation
  const key = { tenant, session: sessionOf(conversation) }
  const instructions = messages[0]?.role === 'system' ? { instructions: plainText(messages[0]) ?? '' } : {}
  await ports.sessions.create({ ...key, agent: id, metadata: {}, ...instructions })
  const at: Import = { ports, key, conversation, lease: undefined, keptAt: 0, round: 0, head: undefined }
  for (const [index, message] of messages.entries()) {
    // Embedded storage never yields. Without this call, other work would wait for seconds.
    await yieldToEventLoop()
    await keepLease(at)
    if (message.role === 'user') await startRun(at, [{ type: 'text', text: plainText(message) ?? '' }])
    if (message.role === 'system' && index > 0) await startRun(at, [{ type: 'text', text: plainText(message) ?? '' }])
    if (message.role === 'assistant') await storeCompletion(at, index, message)
  }
  await endRun(at)
}

async function startRun(at: Import, parts?: readonly UserPart[]): Promise<Lease> {
  await endRun(at)
  const { started } = await at.ports.inbox.enqueue(at.key, {
    agent: at.conversation.id,
    trigger: 'input',
    onBusy: 'queue',
    clientTools: [],
    startAs: crypto.randomUUID(),
    ...(parts === undefined ? {} : { input: { parts } }),
  })
  if (started === undefined) throw new Error(`${at.key.session} is not idle`)
  at.lease = started.lease
  at.keptAt = at.ports.clock.now()
  at.round = 0
  at.head = started.lease.head
  return started.lease
}

/** Renews the lease when its heartbeat is due. On a busy machine, a long run takes longer than a lease. */
async function keepLease(at: Import): Promise<void> {
  const now = at.ports.clock.now()
  if (at.lease === undefined || now - at.keptAt < HEARTBEAT_MS) return
  await at.ports.lease.heartbeat(at.lease, now + LEASE_MS)
  at.keptAt = now
}

async function endRun(at: Import, message?: AssistantMessage): Promise<void> {
  if (at.lease === undefined) return
  const completion = message === undefined ? {} : { message }
  await at.ports.log.endRun(at.lease, { outcome: 'completed', stopReason: 'answer', ...completion })
  at.lease = undefined
}

async function storeCompletion(at: Import, index: number, message: RecordedMessage): Promise<void> {
  const lease = at.lease ?? (await startRun(at))
  const text = plainText(message) ?? ''
  const toolCalls = callsOf(message).map((call) => ({ id: call.id, ...call.function }))
  const assistant: AssistantMessage = {
    id: newId(at),
    role: 'assistant',
    runId: lease.runId,
    agent: at.conversation.id,
    round: at.round++,
    createdAt: at.ports.clock.now(),
    parts: [
      ...(text === '' ? [] : [{ type: 'text' as const, text }]),
      ...toolCalls.map(({ id }) => ({ type: 'tool_call' as const, id })),
    ],
    toolCalls,
    finishReason: 'stop',
  }
  if (toolCalls.length === 0) await endRun(at, assistant)
  else await storeRound(at, lease, index, assistant)
}

/**
 * Stores a completion with its calls, then their results. A call without a result gets no row, because an import does not
 * contain the call's outcome. A result of an unknown call gets a row at an index that no call uses (promises R2).
 */
async function storeRound(at: Import, lease: Lease, index: number, assistant: AssistantMessage): Promise<void> {
  const { conversation } = at
  const results = resultsOf(conversation, index)
  const rowsOfCalls = assistant.toolCalls.flatMap((call, sequence) => {
    const message = conversation.messages[results.get(call.id) ?? -1]
    return message === undefined ? [] : [{ call, sequence, message }]
  })
  const stray = strayResultsAfter(conversation, index).map((message, place) => ({
    call: { id: message.tool_call_id ?? '', name: 'unknown', arguments: '' },
    sequence: assistant.toolCalls.length + place,
    message,
  }))
  const rows = [...rowsOfCalls, ...stray].map(({ call, sequence, message }) => {
    const row = openRow(at, lease, assistant, call, sequence)
    return { row, text: plainText(message) ?? '' }
  })
  await at.ports.log.appendRound(lease, { assistant, tools: rows.map(({ row }) => row) })
  for (const { row, text } of rows) {
    const { parts, output, objects } = fitContent({ messageId: row.id, attempt: '1' }, { text }, DEFAULT_POLICIES)
    for (const object of objects) await at.ports.outputs.put(at.key, object.name, object.bytes, object.mediaType)
    const completedAt = at.ports.clock.now()
    await at.ports.log.completeCall(lease, {
      ...{ messageId: row.id, status: 'completed', parts, output, completedAt, durationMs: 0 },
    })
  }
}

function openRow(at: Import, lease: Lease, assistant: AssistantMessage, call: ToolCall, sequence: number): ToolMessage {
  const { runId, agent, round, createdAt } = assistant
  return {
    ...{ id: newId(at), role: 'tool', runId, agent, round, createdAt, assistantMessageId: assistant.id },
    ...{ toolCallId: call.id, toolName: call.name, call: callText(call), sequence, status: 'running' },
    ...{ parts: [], generation: lease.generation },
  }
}

function newId(at: Import): string {
  at.head = nextId(at.head, at.ports.clock.now())
  return at.head
}
