import type { Json, JsonObject } from '../../domain/json.ts'

/** A call and the message that contains it. */
export interface CallIn {
  readonly message: JsonObject
  readonly sequence: number
}

/** Fields that name a result's original round. They are removed from the result. */
const OF_ROUND = ['id', 'run_id', 'round', 'sequence', 'parent_message_id']
/** Fields that the new completion keeps from the original one. The new completion has only this call. */
const OF_COMPLETION = ['role', 'agent', 'parent_tool_call_id', 'created_at', 'model']

/**
 * Returns a new round for a result that arrived after its call was closed as `interrupted`. The status of a closed call
 * is final, so the original round cannot have the result. The new round has a completion with only this call, and the
 * result. Both messages have the form of their originals.
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
