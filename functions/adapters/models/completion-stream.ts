import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider'
import type { Usage } from '../../domain/usage/usage.ts'
import type { Completion, ModelEvent } from '../../ports/model.ts'
import { ModelError } from '../../ports/model.ts'
import { addPart, completeDraft, createDraft } from './completion-draft.ts'
import type { CompletionDraft } from './completion-draft.ts'
import { toModelError } from './model-error.ts'

/**
 * The events of one streamed completion. Parts are in the order in which they began; text after a call begins a new part. Each
 * part keeps the metadata that the provider sent last, and reasoning is kept even when it is empty (signatures). Rejects with
 * `ModelError` when the stream ends, fails or is filtered before the completion ends.
 */
export async function* readCompletion(
  stream: AsyncIterable<LanguageModelV4StreamPart>,
  model: { readonly provider: string; readonly modelId: string },
): AsyncIterable<ModelEvent> {
  const draft = createDraft()
  let modelId = model.modelId
  for await (const part of stream) {
    if (part.type === 'error') throw toModelError(part.error)
    if (part.type === 'response-metadata') modelId = part.modelId ?? modelId
    if (part.type === 'finish') {
      const usage = toUsage(part.usage)
      const { parts, toolCalls } = whole(draft, part.finishReason, usage)
      const finishReason = part.finishReason.unified
      yield {
        type: 'completion',
        completion: { parts, toolCalls, model: `${model.provider}/${modelId}`, finishReason, usage },
      }
      return
    }
    const event = addPart(draft, part)
    if (event !== undefined) yield event
  }
  throw new ModelError('network', 'the stream ended before the completion did', { retryable: true })
}

/** The parts and calls of a stream that has ended; throws, with what it took, where they are no completion. */
function whole(
  draft: CompletionDraft,
  reason: LanguageModelV4FinishReason,
  usage: Usage,
): Pick<Completion, 'parts' | 'toolCalls'> {
  try {
    checkFinish(reason)
    return completeDraft(draft, reason.unified === 'length')
  } catch (error) {
    if (!(error instanceof ModelError)) throw error
    throw new ModelError(error.code, error.message, { retryable: error.retryable, usage })
  }
}

function checkFinish({ unified, raw }: { readonly unified: string; readonly raw: string | undefined }): void {
  if (unified === 'content-filter') {
    throw new ModelError('refused', `the provider refused the completion (${raw ?? unified})`, { retryable: false })
  }
  if (unified === 'error') {
    throw new ModelError('provider_error', `the provider ended the completion with an error (${raw ?? unified})`, {
      retryable: true,
    })
  }
  if (unified === 'interrupted' || (unified === 'other' && raw === undefined)) {
    throw new ModelError('network', 'the stream ended before the completion did', { retryable: true })
  }
}

/** The provider's numbers in our fields; null for what it did not say. */
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
