import type { ScriptedCompletion, ScriptedPart } from './scripted-completion.ts'
import { finishOf, piecesOf, sse, USED } from './scripted-completion.ts'

const INCOMPLETE = { length: 'max_output_tokens', filtered: 'content_filter' } as const
const USAGE = {
  input_tokens: USED.input,
  input_tokens_details: { cached_tokens: USED.cached },
  output_tokens: USED.output,
  output_tokens_details: { reasoning_tokens: USED.reasoning },
  total_tokens: USED.input + USED.output,
}

/** Builds the OpenAI Responses API's stream of a completion, one string per event. */
export function responsesFrames(completion: ScriptedCompletion, model = 'gpt-scripted'): string[] {
  const response = { id: 'resp_1', object: 'response', created_at: 1_700_000_000, model, status: 'in_progress' }
  const finish = finishOf(completion)
  const reason = finish === 'length' || finish === 'filtered' ? INCOMPLETE[finish] : undefined
  const end =
    reason === undefined
      ? { type: 'response.completed', response: { ...response, status: 'completed', usage: USAGE } }
      : {
          type: 'response.incomplete',
          response: { ...response, status: 'incomplete', incomplete_details: { reason }, usage: USAGE },
        }
  const events = [
    { type: 'response.created', response },
    { type: 'response.in_progress', response },
    ...completion.parts.flatMap((part, index) => eventsOf(part, index, completion.pieceSize)),
    end,
  ]
  return events.map((event, index) => sse({ ...event, sequence_number: index }, event.type))
}

type Event = { readonly type: string; readonly [key: string]: unknown }

function eventsOf(part: ScriptedPart, output_index: number, size: number | undefined): Event[] {
  if (part.type === 'tool_call') return callEvents(part, output_index, size)
  if (part.type === 'reasoning') return reasoningEvents(part, output_index, size)
  if (part.type === 'redacted') throw new TypeError('the Responses API has no redacted reasoning')
  const item = { type: 'message', id: `msg_${output_index}`, role: 'assistant', status: 'in_progress', content: [] }
  const at = { item_id: item.id, output_index, content_index: 0 }
  const content = { type: 'output_text', text: part.text, annotations: [] }
  return [
    { type: 'response.output_item.added', output_index, item },
    { type: 'response.content_part.added', ...at, part: { ...content, text: '' } },
    ...piecesOf(part.text, size).map((delta) => ({ type: 'response.output_text.delta', ...at, delta, logprobs: [] })),
    { type: 'response.output_text.done', ...at, text: part.text, logprobs: [] },
    { type: 'response.content_part.done', ...at, part: content },
    { type: 'response.output_item.done', output_index, item: { ...item, status: 'completed', content: [content] } },
  ]
}

function callEvents(
  part: Extract<ScriptedPart, { type: 'tool_call' }>,
  output_index: number,
  size: number | undefined,
): Event[] {
  const item = { type: 'function_call', id: `fc_${output_index}`, call_id: part.id, name: part.name, arguments: '' }
  const at = { item_id: item.id, output_index }
  const done = { ...item, arguments: part.arguments, status: 'completed' }
  return [
    { type: 'response.output_item.added', output_index, item: { ...item, status: 'in_progress' } },
    ...piecesOf(part.arguments, size).map((delta) => ({
      type: 'response.function_call_arguments.delta',
      ...at,
      delta,
    })),
    { type: 'response.function_call_arguments.done', ...at, name: part.name, arguments: part.arguments },
    { type: 'response.output_item.done', output_index, item: done },
  ]
}

function reasoningEvents(
  part: Extract<ScriptedPart, { type: 'reasoning' }>,
  output_index: number,
  size: number | undefined,
): Event[] {
  const item = { type: 'reasoning', id: `rs_${output_index}`, summary: [], encrypted_content: 'partial' }
  const at = { item_id: item.id, output_index, summary_index: 0 }
  const summary = { type: 'summary_text', text: part.text }
  const shown: Event[] =
    part.text === ''
      ? []
      : [
          { type: 'response.reasoning_summary_part.added', ...at, part: { ...summary, text: '' } },
          ...piecesOf(part.text, size).map((delta) => ({
            type: 'response.reasoning_summary_text.delta',
            ...at,
            delta,
          })),
          { type: 'response.reasoning_summary_text.done', ...at, text: part.text },
          { type: 'response.reasoning_summary_part.done', ...at, part: summary },
        ]
  const done = { ...item, summary: part.text === '' ? [] : [summary], encrypted_content: part.signature }
  return [
    { type: 'response.output_item.added', output_index, item },
    ...shown,
    { type: 'response.output_item.done', output_index, item: done },
  ]
}
