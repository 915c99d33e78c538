import type { ScriptedCompletion, ScriptedPart } from './scripted-completion.ts'
import { finishOf, piecesOf, sse, USED } from './scripted-completion.ts'

const FINISH = { stop: 'stop', 'tool-calls': 'tool_calls', length: 'length', filtered: 'content_filter' } as const
const USAGE = {
  prompt_tokens: USED.input,
  completion_tokens: USED.output,
  total_tokens: USED.input + USED.output,
  prompt_tokens_details: { cached_tokens: USED.cached },
  completion_tokens_details: { reasoning_tokens: USED.reasoning },
}

/**
 * Builds the Chat Completions stream of a completion, one string per frame. Arguments are split into chunks, and usage has a
 * separate frame.
 */
export function chatFrames(completion: ScriptedCompletion, model = 'scripted'): string[] {
  const chunk = (rest: object): string =>
    sse({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model, ...rest })
  const delta = (value: object, finish: string | null = null): string =>
    chunk({ choices: [{ index: 0, delta: value, finish_reason: finish }] })
  let calls = 0
  const content = completion.parts.flatMap((part) =>
    deltas(part, part.type === 'tool_call' ? calls++ : 0, completion.pieceSize).map((value) => delta(value)),
  )
  return [
    delta({ role: 'assistant', content: '' }),
    ...content,
    delta({}, FINISH[finishOf(completion)]),
    chunk({ choices: [], usage: USAGE }),
    'data: [DONE]\n\n',
  ]
}

function deltas(part: ScriptedPart, index: number, size: number | undefined): object[] {
  if (part.type === 'redacted') throw new TypeError('Chat Completions has no redacted reasoning')
  if (part.type === 'text') return piecesOf(part.text, size).map((content) => ({ content }))
  if (part.type === 'reasoning') return piecesOf(part.text, size).map((text) => ({ reasoning_content: text }))
  const start = { index, id: part.id, type: 'function', function: { name: part.name, arguments: '' } }
  const pieces = piecesOf(part.arguments, size).map((text) => ({ index, function: { arguments: text } }))
  return [start, ...pieces].map((call) => ({ tool_calls: [call] }))
}
