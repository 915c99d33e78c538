import { isRecord, textIn } from './transcript.ts'
import type { Fault, FileLine } from './transcript.ts'

type Fields = { readonly [name: string]: unknown }

/** Returns the incomplete messages of a Claude Code file. Their existing content is imported. */
export const damagedOfClaudeCode = (lines: Iterable<FileLine>): Fault[] => damagedIn(lines, faultOfClaudeCode)

/** Returns the incomplete messages of a Codex file. Their existing content is imported. */
export const damagedOfCodex = (lines: Iterable<FileLine>): Fault[] => damagedIn(lines, faultOfCodex)

/** Returns what a UIMessage of the AI SDK lacks; undefined if it is complete. */
export function faultOfUiMessage({ role, parts }: Fields): string | undefined {
  if (role !== 'user' && role !== 'assistant') return 'is no message of a user or an assistant'
  if (!Array.isArray(parts)) return 'has no parts'
  return parts.map(faultOfUiPart).find((fault) => fault !== undefined)
}

function damagedIn(lines: Iterable<FileLine>, faultOf: (record: Fields) => string | undefined): Fault[] {
  return [...lines].flatMap(({ line, value }) => {
    const reason = isRecord(value) ? faultOf(value) : undefined
    return reason === undefined ? [] : [{ line, reason }]
  })
}

function faultOfClaudeCode({ type, uuid, message }: Fields): string | undefined {
  if (type !== 'user' && type !== 'assistant') return undefined
  if (typeof uuid !== 'string' || uuid === '') return 'has no uuid'
  if (!isRecord(message)) return 'has no message'
  const { content } = message
  if (typeof content === 'string') return undefined
  if (!Array.isArray(content)) return 'has no content'
  return content.map(faultOfBlock).find((fault) => fault !== undefined)
}

function faultOfBlock(block: unknown): string | undefined {
  if (!isRecord(block)) return 'has a block that is no object'
  if (block['type'] === 'tool_use') return lacking(block, 'id', 'name')
  return block['type'] === 'tool_result' ? lacking(block, 'tool_use_id') : undefined
}

function faultOfCodex(record: Fields): string | undefined {
  const { payload } = record
  if (record['type'] === 'response_item' && !isRecord(payload)) return 'has no payload'
  // In the oldest files, items have no envelope.
  const item = record['type'] === 'response_item' && isRecord(payload) ? payload : record
  const type = textIn(item, 'type') ?? ''
  if (type === 'message') return faultOfCodexMessage(item)
  return type.endsWith('_call_output') ? lacking(item, 'call_id') : undefined
}

const CODEX_ROLES: ReadonlySet<unknown> = new Set(['user', 'assistant', 'developer', 'system'])

function faultOfCodexMessage({ role, content }: Fields): string | undefined {
  if (typeof content !== 'string' && !Array.isArray(content)) return 'has no content'
  if (CODEX_ROLES.has(role)) return undefined
  return typeof role === 'string' ? `has the unknown role ${role.slice(0, 64)}` : 'has no role'
}

function faultOfUiPart(part: unknown): string | undefined {
  if (!isRecord(part)) return 'has a part that is no object'
  const type = textIn(part, 'type')
  if (type === undefined) return 'has a part without a type'
  if ((type === 'text' || type === 'reasoning') && typeof part['text'] !== 'string') return `has a ${type} without text`
  if (type === 'dynamic-tool') return lacking(part, 'toolName', 'toolCallId')
  return type.startsWith('tool-') ? lacking(part, 'toolCallId') : undefined
}

/** Returns a fault that names the first of these fields that the record lacks; undefined if it has all of them. */
function lacking(record: Fields, ...names: readonly string[]): string | undefined {
  const name = names.find((one) => textIn(record, one) === undefined)
  return name === undefined ? undefined : `has a ${String(record['type'])} without ${name}`
}
