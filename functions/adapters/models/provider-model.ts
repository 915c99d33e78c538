import type { LanguageModelV4 } from '@ai-sdk/provider'
import type { ModelRequest } from '../../domain/model-request.ts'
import { wellFormedMessages } from '../../log/json/well-formed.ts'
import type { Model, ModelEvent } from '../../ports/model.ts'
import { readCompletion } from './completion-stream.ts'
import { toCallOptions } from './call-options.ts'
import { toModelError } from './model-error.ts'
import type { ProviderTraits } from './provider-traits.ts'

interface ProviderModel {
  readonly provider: string
  readonly modelId: string
  readonly traits: ProviderTraits
  /** Returns the package's model for one request. */
  languageModel(request: ModelRequest): LanguageModelV4
}

/** Creates a `Model` from a provider package: one HTTP request per completion, and every failure is a `ModelError`. */
export function createProviderModel({ provider, modelId, traits, languageModel }: ProviderModel): Model {
  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
    signal.throwIfAborted()
    try {
      const sent = wellFormed(request)
      const result = await languageModel(sent).doStream(toCallOptions(sent, traits, signal))
      yield* readCompletion(result.stream, { provider, modelId })
    } catch (error) {
      if (signal.aborted) throw signal.reason
      throw toModelError(error)
    }
  }
  return { name: `${provider}/${modelId}`, stream }
}

function wellFormed({ instructions, ...request }: ModelRequest): ModelRequest {
  const system = instructions === undefined ? {} : { instructions: instructions.toWellFormed() }
  return { ...request, ...system, messages: wellFormedMessages(request.messages) }
}
