import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type { AssistantMessage, Message, ToolMessage, UserMessage } from '../functions/domain/messages/message.ts'
import { callText } from '../functions/log/call-text.ts'

/** Folder of recorded conversations beside the repository. Not every machine has it. */
const DATA = join(import.meta.dirname, '../../shared/data')
export const hasRecordings = (): boolean => existsSync(join(DATA, 'transcripts.jsonl.gz'))

interface RecordedCall {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}
interface RecordedMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string | null | readonly { readonly type: string; readonly text?: string }[]
  readonly tool_calls?: readonly RecordedCall[]
  readonly tool_call_id?: string
}
interface RecordedConversation {
  readonly id: string
  readonly messages: readonly RecordedMessage[]
}

/** One conversation as a session's log. `places` maps each message to its index in the recording. */
export interface CorpusSession {
  readonly id: string
  readonly messages: readonly Message[]
  /** Message id → indices in the recording (for a tool message: the indices of its call and of its result). */
  readonly places: ReadonlyMap<string, readonly number[]>
}

export interface RecordedQuery {
  readonly query: string
  readonly kind: string
  /** Conversation and index of every relevant message. */
  readonly relevant: readonly (readonly [string, number])[]
}

/** Reads a set of recorded queries. The sealed set of the evaluation is not available to this function. */
export function readRecordedQueries(
  file: 'queries.jsonl' | 'queries-other-words.jsonl' = 'queries.jsonl',
): RecordedQuery[] {
  return readLines<RecordedQuery>(readFileSync(join(DATA, file), 'utf8'))
}

/** Reads every recorded conversation, each as the log of a session. */
export function readCorpus(): CorpusSession[] {
  const text = gunzipSync(readFileSync(join(DATA, 'transcripts.jsonl.gz'))).toString('utf8')
  return readLines<RecordedConversation>(text).map((conversation, index) => sessionOf(conversation, index))
}

const readLines = <Line>(text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)

function sessionOf(conversation: RecordedConversation, sessionIndex: number): CorpusSession {
  const messages: Message[] = []
  const places = new Map<string, number[]>()
  const open = new Map<string, ToolMessage>()
  const start = Date.UTC(2026, 0, 1) + sessionIndex * 3_600_000
  const id = (): string => `${String(sessionIndex).padStart(6, '0')}${String(messages.length).padStart(20, '0')}`
  for (const [index, recorded] of conversation.messages.entries()) {
    const base = {
      id: id(),
      runId: `run-${sessionIndex}`,
      agent: 'default',
      round: 0,
      createdAt: start + index * 1_000,
    }
    if (recorded.role === 'user') {
      messages.push({ ...base, role: 'user', parts: [{ type: 'text', text: textOf(recorded) }] } satisfies UserMessage)
      places.set(base.id, [index])
    }
    if (recorded.role === 'assistant') {
      messages.push(assistantOf(base, recorded))
      places.set(base.id, [index])
      for (const [sequence, call] of (recorded.tool_calls ?? []).entries()) {
        const tool = toolOf({ ...base, id: id() }, base.id, sequence, call)
        open.set(call.id, tool)
        messages.push(tool)
        places.set(tool.id, [index])
      }
    }
    if (recorded.role === 'tool') complete(recorded, index, base.createdAt)
  }
  return { id: conversation.id, messages, places }

  function complete(recorded: RecordedMessage, index: number, completedAt: number): void {
    const tool = open.get(recorded.tool_call_id ?? '')
    if (tool === undefined) return
    const done = {
      ...tool,
      status: 'completed' as const,
      parts: [{ type: 'text' as const, text: textOf(recorded) }],
      completedAt,
    }
    messages[messages.findIndex((message) => message.id === tool.id)] = done
    places.get(tool.id)?.push(index)
  }
}

function assistantOf(
  base: Omit<AssistantMessage, 'role' | 'parts' | 'toolCalls'>,
  recorded: RecordedMessage,
): AssistantMessage {
  const toolCalls = (recorded.tool_calls ?? []).map((call) => ({ id: call.id, ...call.function }))
  return { ...base, role: 'assistant', parts: [{ type: 'text', text: textOf(recorded) }], toolCalls }
}

function toolOf(
  base: Omit<UserMessage, 'role' | 'parts'>,
  assistantMessageId: string,
  sequence: number,
  { id, function: called }: RecordedCall,
): ToolMessage {
  return {
    ...base,
    role: 'tool',
    assistantMessageId,
    toolCallId: id,
    toolName: called.name,
    call: callText(called),
    sequence,
    status: 'running',
    parts: [],
    generation: 1,
  }
}

function textOf({ content }: RecordedMessage): string {
  if (typeof content === 'string') return content
  return (content ?? []).flatMap((part) => (part.type === 'text' ? [part.text ?? ''] : [])).join('\n')
}
