import { APICallError } from '@ai-sdk/provider'
import { definedFields } from '../../domain/defined-fields.ts'
import type { ModelRequest } from '../../domain/model-request.ts'
import { wellFormed, wellFormedMessages } from '../../log/json/well-formed.ts'
import { toWireRequest } from '../../log/request/wire-names.ts'
import type { WireRequest } from '../../log/request/wire-names.ts'
import { isRefusal, ModelError } from '../../ports/model.ts'
import type { Model, ModelEvent } from '../../ports/model.ts'
import { readCompletion } from './completion-stream.ts'
import { toCallOptions } from './call-options.ts'
import { toModelError } from './errors/model-error.ts'
import type { StreamingModel } from './pooled-models.ts'
import type { ProviderTraits } from './provider-traits.ts'
import { refusedIndex } from './errors/refused-message.ts'

interface ProviderModel {
  readonly provider: string
  readonly modelId: string
  readonly traits: ProviderTraits
  /** Returns the package's model for one request. */
  languageModel(request: ModelRequest): StreamingModel
}

/** Creates a `Model` from a provider package: one HTTP request per completion, and every failure is a `ModelError`. */
export function createProviderModel({ provider, modelId, traits, languageModel }: ProviderModel): Model {
  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
    signal.throwIfAborted()
    try {
      const wire = toWireRequest(request, traits.ids)
      const sent = wellFormed({ ...wire.request, messages: wellFormedMessages(wire.request.messages) })
      const result = await languageModel(sent).doStream(toCallOptions(sent, traits, signal))
      for await (const event of readCompletion(result.stream, { provider, modelId })) yield withOriginals(event, wire)
    } catch (error) {
      if (signal.aborted) throw signal.reason
      throw withIndex(toModelError(error), request, provider)
    }
  }
  return { name: `${provider}/${modelId}`, stream }
}

/** Replaces mapped tool names by the log's names. */
function withOriginals(event: ModelEvent, { originalOf }: WireRequest): ModelEvent {
  if (event.type === 'tool_call.delta') return { ...event, toolName: originalOf(event.toolName) }
  if (event.type !== 'completion') return event
  const toolCalls = event.completion.toolCalls.map((call) => ({ ...call, name: originalOf(call.name) }))
  return { ...event, completion: { ...event.completion, toolCalls } }
}

/** Adds the index of the message that the provider's refusal names. */
function withIndex(error: ModelError, request: ModelRequest, provider: string): ModelError {
  if (!isRefusal(error)) return error
  const words = APICallError.isInstance(error.cause) ? (error.cause.responseBody ?? '') : ''
  const index = refusedIndex(`${error.message} ${words}`, request, provider)
  if (index === undefined) return error
  const { code, message, retryable, cause, retryAfterMs, status, size } = error
  const known = definedFields({ retryAfterMs, status, size })
  return new ModelError(code, message, { retryable, cause, ...known, messageIndex: index })
}
