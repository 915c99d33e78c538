import { definedFields } from '../../domain/defined-fields.ts'
import type { HistoryDocument, HistoryHit, HistoryRole } from '../../domain/history.ts'
import type { Rating } from '../../domain/messages/feedback.ts'
import type { ToolStatus } from '../../domain/messages/message.ts'
import type { SessionKey } from '../../domain/session.ts'
import { messageFingerprint } from '../../search/cursor.ts'
import { documentTokens } from '../../search/tokens/document-tokens.ts'

/**
 * Version of the index. It increases with every change of the mapping, of the stored fields or of their tokens. An
 * index with another version must be rebuilt. Fields that only new documents have and that no query uses (`searched`,
 * `task`) need no increase.
 */
export const INDEX_VERSION = 4

/** A document in the index, without its tokens. */
export interface Source {
  /** Sort key by age: the message's id, then its fingerprint. */
  readonly event: string
  /** Globally unique short name of a message. */
  readonly print: string
  readonly tenant: string
  readonly session: string
  readonly owner?: string
  readonly run: string
  readonly message: string
  readonly part: string
  readonly role: HistoryRole
  readonly agent: string
  readonly tool?: string
  readonly tool_call?: string
  readonly status?: ToolStatus
  readonly feedback?: readonly Rating[]
  readonly searched?: true
  readonly task?: true
  readonly superseded?: true
  readonly call?: string
  readonly text: string
  readonly time: number
}

/** Lucene rejects terms over 32,766 bytes. A longer value is stored but not searchable. */
const keyword = { type: 'keyword', ignore_above: 8_000 }
const kept = { type: 'keyword', index: false, doc_values: false }
/** Tokens are joined by spaces. Positions are not indexed. */
const tokens = { type: 'text', analyzer: 'whitespace', index_options: 'freqs', copy_to: 't_all' }

/** Mapping of the index. It depends on no plugin and on no settings. */
export const MAPPING = {
  dynamic: false,
  _source: { excludes: ['t_*'] },
  properties: {
    event: keyword,
    print: keyword,
    tenant: keyword,
    session: keyword,
    owner: keyword,
    run: keyword,
    message: keyword,
    part: { type: 'keyword', index: false },
    role: keyword,
    agent: keyword,
    tool: keyword,
    tool_call: kept,
    status: keyword,
    feedback: keyword,
    superseded: { type: 'boolean' },
    call: kept,
    text: kept,
    time: { type: 'long' },
    t_tool: tokens,
    t_call: tokens,
    t_body: tokens,
    t_extra: tokens,
    t_all: { type: 'text', analyzer: 'whitespace', index_options: 'freqs' },
  },
}

/** Returns the `_id` of a message's part. It does not depend on when and where the part is indexed. */
export const documentId = (key: SessionKey, messageId: string, part: string): string =>
  `${eventOf(key, messageId)}.${part}`

/** Converts a document for the index. */
export function indexedDocument(document: HistoryDocument): Source & Readonly<Record<`t_${string}`, string>> {
  const { tenant, session, owner, runId, messageId, part, role, agent, toolName, toolCallId } = document
  const { status, feedback, searched, task, superseded, call } = document
  const { tool, call: callTokens, body, extra } = documentTokens(document)
  const event = eventOf(document, messageId)
  return {
    event,
    print: event.slice(messageId.length + 1),
    tenant,
    session,
    ...definedFields({ owner }),
    run: runId,
    message: messageId,
    part,
    role,
    agent,
    ...definedFields({ tool: toolName, tool_call: toolCallId, status, feedback, searched, task, superseded, call }),
    text: document.text,
    time: document.time,
    t_tool: tool.join(' '),
    t_call: callTokens.join(' '),
    t_body: body.join(' '),
    t_extra: extra.join(' '),
  }
}

/** Returns the fields of a hit. */
export function hitFields(source: Source): Omit<HistoryHit, 'score' | 'snippet' | 'matched'> {
  const { session, owner, run, message, role, agent, tool, tool_call: toolCallId, status, time } = source
  return {
    session,
    ...definedFields({ owner }),
    runId: run,
    messageId: message,
    role,
    agent,
    ...definedFields({ toolName: tool, toolCallId, status }),
    time,
  }
}

function eventOf(key: SessionKey, messageId: string): string {
  return `${messageId}.${messageFingerprint(key, messageId)}`
}
