import type { HistoryDocument } from '../../domain/history.ts'
import { tokenize, type Tokens } from './tokens.ts'

/** A document's tokens by field, for an index. */
export interface DocumentTokens {
  readonly tool: readonly string[]
  readonly call: readonly string[]
  readonly body: readonly string[]
  /** Other forms of the words, at the same positions as the words. All fields share this list. */
  readonly extra: readonly string[]
}

const NOTHING: Tokens = { words: [], extra: [] }

/**
 * Returns the tokens of a document, which are equal for every index. The text of a call is in the field `call`, not in
 * the body.
 */
export function documentTokens({ role, toolName, call, text }: HistoryDocument): DocumentTokens {
  const ofTool = toolName === undefined ? NOTHING : tokenize(toolName)
  const ofCall = call === undefined ? NOTHING : tokenize(role === 'tool_call' ? text : call)
  const ofBody = role === 'tool_call' ? NOTHING : tokenize(text)
  return {
    tool: ofTool.words,
    call: ofCall.words,
    body: ofBody.words,
    extra: [...new Set([...ofTool.extra, ...ofCall.extra, ...ofBody.extra])],
  }
}
