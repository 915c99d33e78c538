import type { AssistantMessage, Message, ToolMessage } from '../../../domain/message.ts'
import { isLeaders, textOf } from '../../../domain/message.ts'
import type { Run } from '../../../domain/run.ts'
import { partUrl } from '../../v1/resources/message.ts'
import { roundCallId } from '../call-id.ts'
import { memberPart, uiInput, uiMetadata } from './ui-chunks.ts'
import type { UiChunk } from './ui-chunks.ts'

export interface UiMessage {
  readonly id: string
  readonly role: 'user' | 'assistant'
  readonly metadata?: object
  readonly parts: UiChunk[]
}

/** A log's messages as the UI shows them: a run is one message of the assistant. `runs`: those of the messages, by id. */
export function uiMessagesOf(session: string, log: readonly Message[], runs: ReadonlyMap<string, Run>): UiMessage[] {
  const rows = new Map<string, ToolMessage>()
  for (const one of log) if (one.role === 'tool') rows.set(`${one.assistantMessageId} ${one.sequence}`, one)
  const shown = new Map<string, UiMessage>()
  for (const one of log) {
    if (!isLeaders(one)) {
      if (one.role !== 'user' && !isOpen(one)) shown.get(one.runId)?.parts.push(memberPart(one))
      continue
    }
    if (one.role === 'user') {
      shown.set(one.id, {
        id: one.id,
        role: 'user',
        parts: one.parts.flatMap((part) => userPart(session, one.id, part)),
      })
      continue
    }
    if (one.role === 'tool') continue
    const run = runs.get(one.runId)
    const metadata = run === undefined ? {} : { metadata: uiMetadata(run) }
    const known = shown.get(one.runId) ?? { id: one.runId, role: 'assistant' as const, ...metadata, parts: [] }
    shown.set(one.runId, known)
    known.parts.push({ type: 'step-start' })
    const isClients = (name: string): boolean => run?.clientTools.some((tool) => tool.name === name) ?? false
    const sources: UiChunk[] = []
    for (const part of one.parts) {
      if (part.type === 'text' || part.type === 'reasoning')
        known.parts.push({ type: part.type, text: part.text, state: 'done' })
      if (part.type !== 'tool_call') continue
      const sequence = one.toolCalls.findIndex(({ id }) => id === part.id)
      const call = one.toolCalls[sequence]
      if (call === undefined) continue
      const row = rows.get(`${one.id} ${sequence}`)
      known.parts.push({
        type: 'dynamic-tool',
        toolName: call.name,
        toolCallId: roundCallId({ toolCallId: call.id, round: one.round }),
        ...(isClients(call.name) ? {} : { providerExecuted: true }),
        input: uiInput(call.arguments),
        ...stateOf(row),
      })
      sources.push(...sourcesOf(row))
    }
    known.parts.push(...sources)
  }
  return [...shown.values()].filter(({ parts }) => parts.length > 0)
}

const isOpen = (one: AssistantMessage | ToolMessage): boolean =>
  one.role === 'tool' && (one.status === 'running' || one.status === 'waiting' || one.status === 'approved')

function stateOf(row: ToolMessage | undefined): object {
  switch (row?.status) {
    case 'completed':
      return { state: 'output-available', output: textOf(row.parts) }
    case 'waiting':
      return row.needs === 'approval'
        ? { state: 'approval-requested', approval: { id: row.id } }
        : { state: 'input-available' }
    case 'approved':
      return { state: 'approval-responded', approval: { id: row.id, approved: true } }
    case 'running':
    case undefined:
      return { state: 'input-available' }
    case 'error':
    case 'interrupted':
    case 'cancelled':
    case 'denied':
      return { state: 'output-error', errorText: textOf(row.parts) }
  }
}

const sourcesOf = (row: ToolMessage | undefined): UiChunk[] =>
  (row?.sources ?? []).flatMap(({ title, url }, place) =>
    url === undefined || row === undefined ? [] : [{ type: 'source-url', sourceId: `${row.id}:${place}`, url, title }],
  )

function userPart(session: string, message: string, part: Message['parts'][number]): UiChunk[] {
  if (part.type === 'text') return [{ type: 'text', text: part.text }]
  if (part.type !== 'image' && part.type !== 'file') return []
  const { mediaType, filename } = part
  const url = partUrl(session, message, part.id)
  return [{ type: 'file', mediaType, ...(filename === undefined ? {} : { filename }), url }]
}
