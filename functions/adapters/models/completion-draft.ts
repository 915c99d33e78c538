import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type {
  AssistantPart,
  ProviderMetadata,
  ReasoningPart,
  TextPart,
  ToolCall,
} from '../../domain/messages/message.ts'
import type { Completion, ModelEvent } from '../../ports/model.ts'
import { ModelError } from '../../ports/model.ts'

type Piece = { -readonly [Key in keyof (TextPart | ReasoningPart)]: (TextPart | ReasoningPart)[Key] }
interface Call {
  readonly id: string
  name: string
  arguments: string
  provider?: ProviderMetadata
  complete: boolean
}
type Streamed<Type extends LanguageModelV4StreamPart['type']> = Extract<LanguageModelV4StreamPart, { type: Type }>

/** The streamed part of a completion. */
export interface CompletionDraft {
  /** Parts in the order in which they began. */
  readonly parts: (Piece | Call)[]
  readonly calls: Call[]
  /** The newest part of each text block and of each reasoning block, by the provider's block id. */
  readonly blocks: Map<string, Piece>
}

export const createDraft = (): CompletionDraft => ({ parts: [], calls: [], blocks: new Map() })

/** Adds one part of the stream. Returns the event for consumers, if there is one. */
export function addPart(draft: CompletionDraft, part: LanguageModelV4StreamPart): ModelEvent | undefined {
  switch (part.type) {
    case 'text-start':
    case 'text-delta':
    case 'text-end':
      return addText(draft, 'text', part)
    case 'reasoning-start':
    case 'reasoning-delta':
    case 'reasoning-end':
      return addText(draft, 'reasoning', part)
    case 'tool-input-start':
      return part.providerExecuted === true ? undefined : callDelta(draft, startCall(draft, part.id, part.toolName), '')
    case 'tool-input-delta':
      return addArguments(draft, part)
    case 'tool-call':
      return part.providerExecuted === true ? undefined : finishCall(draft, part)
    default:
      return undefined
  }
}

/**
 * Returns the completion's parts and calls. `cutShort`: the model ran out of tokens, so its last call may be
 * unfinished. Otherwise, throws if a call is unfinished.
 */
export function completeDraft(draft: CompletionDraft, cutShort: boolean): Pick<Completion, 'parts' | 'toolCalls'> {
  if (!cutShort && draft.calls.some((call) => !call.complete)) {
    throw new ModelError('network', 'the stream ended within a tool call', { retryable: true })
  }
  return { parts: draft.parts.flatMap(storedPart), toolCalls: draft.calls.map(storedCall) }
}

/**
 * Adds text or reasoning. Text after a call begins a new part. Empty reasoning is kept too, because it may have a
 * signature.
 */
function addText(
  draft: CompletionDraft,
  type: 'text' | 'reasoning',
  part: Streamed<`${'text' | 'reasoning'}-${'start' | 'delta' | 'end'}`>,
): ModelEvent | undefined {
  const key = `${type}:${part.id}`
  const text = 'delta' in part ? part.delta : ''
  const begins = part.type === 'text-start' || part.type === 'reasoning-start'
  const known = begins || (text !== '' && isCall(draft.parts.at(-1))) ? undefined : draft.blocks.get(key)
  const piece = known ?? { type, text: '' }
  if (known === undefined) draft.parts.push(piece)
  draft.blocks.set(key, piece)
  piece.text += text
  if (part.providerMetadata !== undefined) piece.provider = part.providerMetadata
  return text === '' ? undefined : { type: `${type}.delta`, part: draft.parts.indexOf(piece), text }
}

function startCall(draft: CompletionDraft, id: string, name: string): Call {
  const call: Call = { id, name, arguments: '', complete: false }
  draft.calls.push(call)
  draft.parts.push(call)
  return call
}

/**
 * Finds the unfinished call with an id. A provider that repeats an id within a batch ends the first call before the
 * next begins.
 */
const unfinished = (draft: CompletionDraft, id: string): Call | undefined =>
  draft.calls.find((call) => call.id === id && !call.complete)

function addArguments(draft: CompletionDraft, part: Streamed<'tool-input-delta'>): ModelEvent | undefined {
  const call = unfinished(draft, part.id)
  if (call === undefined) return undefined
  call.arguments += part.delta
  return callDelta(draft, call, part.delta)
}

/** Finishes a call. If the complete call differs from the streamed pieces, the complete call is used. */
function finishCall(draft: CompletionDraft, part: Streamed<'tool-call'>): ModelEvent | undefined {
  const started = unfinished(draft, part.toolCallId)
  const call = started ?? startCall(draft, part.toolCallId, part.toolName)
  call.name = part.toolName
  call.arguments = part.input
  call.complete = true
  if (part.providerMetadata !== undefined) call.provider = part.providerMetadata
  return started === undefined ? callDelta(draft, call, part.input) : undefined
}

function callDelta(draft: CompletionDraft, call: Call, text: string): ModelEvent {
  const sequence = draft.calls.indexOf(call)
  return { type: 'tool_call.delta', sequence, toolCallId: call.id, toolName: call.name, arguments: text }
}

const isCall = (part: Piece | Call | undefined): part is Call => part !== undefined && 'complete' in part

/** Converts a part for the log. A text part without any text is dropped. */
function storedPart(part: Piece | Call): AssistantPart[] {
  if (isCall(part)) return [{ type: 'tool_call', id: part.id }]
  return part.type === 'text' && part.text === '' ? [] : [{ ...part }]
}

function storedCall({ complete: _, ...call }: Call): ToolCall {
  return call
}
