import { definedFields } from '../../domain/defined-fields.ts'
import type { AssistantMessage, Message, ToolMessage } from '../../domain/messages/message.ts'
import { isLeaders, textOf } from '../../domain/messages/message.ts'
import type { Run } from '../../domain/runs/run.ts'
import { partUrl } from '../v1/messages/resource.ts'
import { roundCallId } from '../run-steps/call-id.ts'
import { MEMBER_WAITS, memberPart, uiInput } from './calls.ts'
import type { UiChunk } from './calls.ts'
import { uiMetadata } from './chunks.ts'

export interface UiMessage {
  readonly id: string
  readonly role: 'user' | 'assistant'
  readonly metadata?: object
  readonly parts: UiChunk[]
}

/**
 * Converts a log's messages to UI messages. A run is one assistant message with the run's id. A steered input starts
 * another assistant message: the last one has the run's id, and each earlier one has the id of its first completion.
 * `runs`: the runs of the messages, by id.
 */
export function uiMessagesOf(session: string, log: readonly Message[], runs: ReadonlyMap<string, Run>): UiMessage[] {
  const parts = createParts(log, runs)
  const shown: UiMessage[] = []
  /** For each run: the index of its newest assistant message in `shown`, and its first completion. */
  const open = new Map<string, { readonly at: number; readonly completion: string }>()
  const openOf = (runId: string): UiMessage | undefined => shown[open.get(runId)?.at ?? -1]
  for (const one of log) {
    if (!isLeaders(one)) {
      if (one.role !== 'user') openOf(one.runId)?.parts.push(...parts.ofMember(one))
      continue
    }
    if (one.role === 'tool') continue
    if (one.role === 'user') {
      const { at = -1, completion = '' } = open.get(one.runId) ?? {}
      const before = shown[at]
      if (before !== undefined) shown[at] = { ...before, id: completion }
      open.delete(one.runId)
      shown.push({ id: one.id, role: 'user', parts: one.parts.flatMap((part) => userPart(session, one.id, part)) })
      continue
    }
    if (!open.has(one.runId)) {
      const run = runs.get(one.runId)
      const metadata = run === undefined ? {} : { metadata: uiMetadata(run) }
      open.set(one.runId, { at: shown.length, completion: one.id })
      shown.push({ id: one.runId, role: 'assistant', ...metadata, parts: [] })
    }
    openOf(one.runId)?.parts.push({ type: 'step-start' }, ...parts.ofCompletion(one))
  }
  return shown.filter(({ parts: some }) => some.length > 0)
}

/** Converts the completions and calls of this log to parts. */
function createParts(log: readonly Message[], runs: ReadonlyMap<string, Run>) {
  const rows = new Map<string, ToolMessage>()
  const sent = new Map<string, string>()
  for (const one of log) {
    if (one.role === 'tool') rows.set(placeOf(one.assistantMessageId, one.sequence), one)
    if (one.role === 'assistant')
      for (const [sequence, call] of one.toolCalls.entries()) sent.set(placeOf(one.id, sequence), call.arguments)
  }
  function callPart({ toolCallId, name, text, row, runId }: ShownCall): UiChunk {
    const run = runs.get(runId)
    const isClients = row?.needs === 'result' || run?.clientTools.some((tool) => tool.name === name) === true
    const executed = isClients || isUndecided(row) ? {} : { providerExecuted: true }
    const isHeldUp = row?.status === 'running' && run?.status === 'paused'
    const state = isHeldUp ? { state: 'output-available', output: MEMBER_WAITS } : stateOf(row)
    return { type: 'dynamic-tool', toolName: name, toolCallId, ...executed, input: uiInput(text), ...state }
  }
  return {
    ofCompletion({ id, runId, round, parts, toolCalls }: AssistantMessage): UiChunk[] {
      const sources: UiChunk[] = []
      const shown = parts.flatMap((part): UiChunk[] => {
        if (part.type === 'text' || part.type === 'reasoning')
          return [{ type: part.type, text: part.text, state: 'done' }]
        if (part.type !== 'tool_call') return []
        const sequence = toolCalls.findIndex((call) => call.id === part.id)
        const call = toolCalls[sequence]
        if (call === undefined) return []
        const row = rows.get(placeOf(id, sequence))
        sources.push(...sourcesOf(row))
        const toolCallId = roundCallId({ toolCallId: call.id, round })
        return [callPart({ toolCallId, name: call.name, text: call.arguments, row, runId })]
      })
      return [...shown, ...sources]
    },
    /** A member's calls that a client must resolve are shown like the leader's. */
    ofMember(one: AssistantMessage | ToolMessage): UiChunk[] {
      if (one.role !== 'tool' || one.needs === undefined) return isOpen(one) ? [] : [memberPart(one)]
      const text = sent.get(placeOf(one.assistantMessageId, one.sequence)) ?? ''
      const part = callPart({ toolCallId: one.id, name: one.toolName, text, row: one, runId: one.runId })
      return [part, ...sourcesOf(one)]
    },
  }
}

interface ShownCall {
  readonly toolCallId: string
  readonly name: string
  /** The arguments as the model sent them. */
  readonly text: string
  readonly row: ToolMessage | undefined
  readonly runId: string
}

const placeOf = (completion: string, sequence: number): string => `${completion} ${sequence}`

/**
 * Whether a call waits for a decision, or is approved but waits for decisions on other calls of its round. Until such a
 * call is executed, the client treats the call as its own.
 */
const isUndecided = (row: ToolMessage | undefined): boolean =>
  row?.needs === 'approval' && (row.status === 'waiting' || row.status === 'approved')

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
      return { state: 'output-error', errorText: textOf(row.parts) }
    case 'denied':
      return { state: 'output-denied', approval: { id: row.id, approved: false } }
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
  return [{ type: 'file', mediaType, ...definedFields({ filename }), url }]
}
