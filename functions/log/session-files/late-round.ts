import type { Json, JsonObject } from '../../domain/json.ts'

/** A call in the message that has it. */
export interface CallIn {
  readonly message: JsonObject
  readonly sequence: number
}

/** Names of its round, which it is no part of any more. */
const OF_ROUND = ['id', 'run_id', 'round', 'sequence', 'parent_message_id']
/** What a completion keeps that says nothing but its call. */
const OF_COMPLETION = ['role', 'agent', 'parent_tool_call_id', 'created_at', 'model']

/**
 * A result that came after its call had been closed as `interrupted`, which is final: a round of its own, in a completion that has
 * this call and says nothing else. Both messages have the form of those that they are made of.
 */
export function lateRound({ message, sequence }: CallIn, result: JsonObject): readonly JsonObject[] {
  const calls = message['tool_calls'] as readonly Json[]
  const call = calls[sequence] ?? {}
  const parts = 'parts' in message ? { parts: [{ type: 'tool_call', id: idOf(call) }] } : {}
  const completion = {
    ...fieldsOf(message, (name) => OF_COMPLETION.includes(name)),
    ...parts,
    tool_calls: [call],
  }
  return [completion, fieldsOf(result, (name) => !OF_ROUND.includes(name))]
}

const idOf = (call: Json): string =>
  typeof call === 'object' && call !== null && 'id' in call && typeof call['id'] === 'string' ? call['id'] : ''

const fieldsOf = (message: JsonObject, isKept: (name: string) => boolean): JsonObject =>
  Object.fromEntries(Object.entries(message).filter(([name]) => isKept(name)))
