import type { LanguageModelV4StreamPart, LanguageModelV4Usage, SharedV4ProviderMetadata } from '@ai-sdk/provider'
import type { AssistantPart, ProviderMetadata, ReasoningPart, TextPart, ToolCall } from '../../domain/message.ts'
import type { Usage } from '../../domain/usage.ts'
import type { ModelAnswer, ModelEvent } from '../../ports/model.ts'
import { ModelError } from '../../ports/model.ts'
import { toModelError } from './model-error.ts'

type Piece = { -readonly [Key in keyof (TextPart | ReasoningPart)]: (TextPart | ReasoningPart)[Key] }
interface Call {
  readonly id: string
  name: string
  arguments: string
  provider?: ProviderMetadata
  complete: boolean
}

/**
 * The events of one streamed answer. Parts stand in the order in which they began; text after a call begins a new part. Each
 * part keeps the metadata that the provider gave last, and reasoning is kept even when it is empty (signatures). Rejects with
 * `ModelError` when the stream ends, fails or is filtered before its answer is complete.
 */
export async function* readAnswer(
  stream: AsyncIterable<LanguageModelV4StreamPart>,
  model: { readonly provider: string; readonly modelId: string },
): AsyncIterable<ModelEvent> {
  const answer = createAnswer()
  let modelId = model.modelId
  for await (const part of stream) {
    if (part.type === 'error') throw toModelError(part.error)
    if (part.type === 'response-metadata') modelId = part.modelId ?? modelId
    if (part.type === 'finish') {
      checkFinish(part.finishReason)
      const { parts, toolCalls } = answer.complete(part.finishReason.unified === 'length')
      const finishReason = part.finishReason.unified
      const usage = toUsage(part.usage)
      yield { type: 'answer', answer: { parts, toolCalls, model: `${model.provider}/${modelId}`, finishReason, usage } }
      return
    }
    const event = answer.add(part)
    if (event !== undefined) yield event
  }
  throw new ModelError('network', 'the stream ended before the answer was complete', { retryable: true })
}

function checkFinish({ unified, raw }: { readonly unified: string; readonly raw: string | undefined }): void {
  if (unified === 'content-filter') {
    throw new ModelError('refused', `the provider refused the answer (${raw ?? unified})`, { retryable: false })
  }
  if (unified === 'error') {
    throw new ModelError('provider_error', `the provider ended the answer with an error (${raw ?? unified})`, {
      retryable: true,
    })
  }
  if (unified === 'interrupted' || (unified === 'other' && raw === undefined)) {
    throw new ModelError('network', 'the stream ended before the answer was complete', { retryable: true })
  }
}

function createAnswer(): {
  add(part: LanguageModelV4StreamPart): ModelEvent | undefined
  /** `cutShort`: the model ran out of tokens, so its last call may be unfinished. */
  complete(cutShort: boolean): Pick<ModelAnswer, 'parts' | 'toolCalls'>
} {
  const parts: (Piece | Call)[] = []
  const calls: Call[] = []
  const open = new Map<string, Piece>()

  function addText(
    type: 'text' | 'reasoning',
    id: string,
    delta: string,
    provider?: SharedV4ProviderMetadata,
  ): ModelEvent | undefined {
    const key = `${type}:${id}`
    let piece = open.get(key)
    if (piece === undefined || (delta !== '' && isCall(parts.at(-1)))) {
      piece = { type, text: '' }
      parts.push(piece)
      open.set(key, piece)
    }
    piece.text += delta
    keepMetadata(piece, provider)
    return delta === '' ? undefined : { type: `${type}.delta`, part: parts.indexOf(piece), text: delta }
  }

  function startCall(id: string, name: string): Call {
    const call: Call = { id, name, arguments: '', complete: false }
    calls.push(call)
    parts.push(call)
    return call
  }

  function callDelta(call: Call, text: string): ModelEvent {
    return {
      type: 'tool_call.delta',
      sequence: calls.indexOf(call),
      toolCallId: call.id,
      toolName: call.name,
      arguments: text,
    }
  }

  function finishCall(part: Extract<LanguageModelV4StreamPart, { type: 'tool-call' }>): ModelEvent | undefined {
    const started = calls.find((call) => call.id === part.toolCallId && !call.complete)
    const call = started ?? startCall(part.toolCallId, part.toolName)
    Object.assign(call, { name: part.toolName, arguments: part.input, complete: true })
    keepMetadata(call, part.providerMetadata)
    return started === undefined ? callDelta(call, part.input) : undefined
  }

  function add(part: LanguageModelV4StreamPart): ModelEvent | undefined {
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        open.delete(`${part.type === 'text-start' ? 'text' : 'reasoning'}:${part.id}`)
        return addText(part.type === 'text-start' ? 'text' : 'reasoning', part.id, '', part.providerMetadata)
      case 'text-delta':
        return addText('text', part.id, part.delta, part.providerMetadata)
      case 'reasoning-delta':
        return addText('reasoning', part.id, part.delta, part.providerMetadata)
      case 'text-end':
        return addText('text', part.id, '', part.providerMetadata)
      case 'reasoning-end':
        return addText('reasoning', part.id, '', part.providerMetadata)
      case 'tool-input-start':
        return part.providerExecuted === true ? undefined : callDelta(startCall(part.id, part.toolName), '')
      case 'tool-input-delta': {
        const call = calls.find((candidate) => candidate.id === part.id && !candidate.complete)
        if (call === undefined) return undefined
        call.arguments += part.delta
        return callDelta(call, part.delta)
      }
      case 'tool-call':
        return part.providerExecuted === true ? undefined : finishCall(part)
      default:
        return undefined
    }
  }

  return {
    add,
    complete(cutShort) {
      if (!cutShort && calls.some((call) => !call.complete)) {
        throw new ModelError('network', 'the stream ended within a tool call', { retryable: true })
      }
      return { parts: parts.flatMap(storedPart), toolCalls: calls.map(storedCall) }
    },
  }
}

const isCall = (part: Piece | Call | undefined): part is Call => part !== undefined && 'complete' in part

function keepMetadata(target: { provider?: ProviderMetadata }, provider: SharedV4ProviderMetadata | undefined): void {
  if (provider !== undefined) target.provider = provider
}

/** Text that never came is no part. */
function storedPart(part: Piece | Call): AssistantPart[] {
  if (isCall(part)) return [{ type: 'tool_call', id: part.id }]
  return part.type === 'text' && part.text === '' ? [] : [{ ...part }]
}

function storedCall({ complete: _, ...call }: Call): ToolCall {
  return call
}

/** The provider's own numbers in our fields; what it did not say is null. */
function toUsage({ inputTokens, outputTokens, raw }: LanguageModelV4Usage): Usage {
  const input = inputTokens.total ?? null
  const output = outputTokens.total ?? null
  return {
    inputTokens: input,
    cachedInputTokens: inputTokens.cacheRead ?? null,
    cacheWriteTokens: inputTokens.cacheWrite ?? null,
    outputTokens: output,
    reasoningTokens: outputTokens.reasoning ?? null,
    totalTokens: input === null || output === null ? null : input + output,
    ...(raw === undefined ? {} : { provider: raw }),
  }
}
