import type { ScriptedCompletion, ScriptedPart } from './scripted-completion.ts'
import { finishOf, piecesOf, sse, USED } from './scripted-completion.ts'

const STOP = { stop: 'end_turn', 'tool-calls': 'tool_use', length: 'max_tokens', filtered: 'refusal' } as const

/** Builds the Anthropic Messages API's stream of a completion, one string per event. */
export function anthropicFrames(completion: ScriptedCompletion, model = 'claude-scripted'): string[] {
  const event = (data: { type: string; [key: string]: unknown }): string => sse(data, data.type)
  const usage = {
    input_tokens: USED.input - USED.cached - USED.cacheWrite,
    cache_read_input_tokens: USED.cached,
    cache_creation_input_tokens: USED.cacheWrite,
    output_tokens: 1,
  }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model, content: [], stop_reason: null, usage }
  const blocks = completion.parts.flatMap((part, index) => [
    event({ type: 'content_block_start', index, content_block: startOf(part) }),
    ...deltasOf(part, completion.pieceSize).map((delta) => event({ type: 'content_block_delta', index, delta })),
    event({ type: 'content_block_stop', index }),
  ])
  return [
    event({ type: 'message_start', message }),
    event({ type: 'ping' }),
    ...blocks,
    event({
      type: 'message_delta',
      delta: { stop_reason: STOP[finishOf(completion)], stop_sequence: null },
      usage: { output_tokens: USED.output },
    }),
    event({ type: 'message_stop' }),
  ]
}

function startOf(part: ScriptedPart): object {
  if (part.type === 'text') return { type: 'text', text: '' }
  if (part.type === 'reasoning') return { type: 'thinking', thinking: '', signature: '' }
  if (part.type === 'redacted') return { type: 'redacted_thinking', data: part.data }
  return { type: 'tool_use', id: part.id, name: part.name, input: {} }
}

function deltasOf(part: ScriptedPart, size: number | undefined): object[] {
  if (part.type === 'redacted') return []
  if (part.type === 'text') return piecesOf(part.text, size).map((text) => ({ type: 'text_delta', text }))
  if (part.type === 'tool_call') {
    return piecesOf(part.arguments, size).map((piece) => ({ type: 'input_json_delta', partial_json: piece }))
  }
  const thinking =
    part.text === '' ? [] : piecesOf(part.text, size).map((text) => ({ type: 'thinking_delta', thinking: text }))
  const signature = part.signature === undefined ? [] : [{ type: 'signature_delta', signature: part.signature }]
  return [...thinking, ...signature]
}
