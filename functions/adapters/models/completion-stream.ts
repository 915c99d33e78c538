import type { LanguageModelV4FinishReason, LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider'
import { definedFields } from '../../domain/defined-fields.ts'
import type { Usage } from '../../domain/usage/usage.ts'
import type { Completion, ModelEvent } from '../../ports/model.ts'
import { ModelError } from '../../ports/model.ts'
import { addPart, completeDraft, createDraft } from './completion-draft.ts'
import type { CompletionDraft } from './completion-draft.ts'
import { isKnownFrame } from './errors/known-frames.ts'
import { notUnderstood, toModelError } from './errors/model-error.ts'

/**
 * Limits of one completion. For comparison: 128,000 tokens are about 600,000 characters, and a round executes at most
 * 64 calls.
 */
const MAX_CHARACTERS = 8_000_000
const MAX_PARTS = 4_096

/**
 * Yields the events of one streamed completion. Parts keep the order in which they began; text after a call begins a
 * new part. Each part keeps the last metadata of the provider, and empty reasoning is kept for its signature.
 * Rejects with `ModelError` if the stream ends, fails or is filtered before the completion ends, or if the completion
 * exceeds its limits.
 */
export async function* readCompletion(
  stream: AsyncIterable<LanguageModelV4StreamPart>,
  model: { readonly provider: string; readonly modelId: string },
): AsyncIterable<ModelEvent> {
  const draft = createDraft()
  let modelId = model.modelId
  let characters = 0
  let unknownFrames = 0
  let isUnknown = false
  for await (const part of stream) {
    if (part.type === 'raw') {
      isUnknown = !isKnownFrame(part.rawValue)
      if (isUnknown) unknownFrames++
      continue
    }
    if (part.type === 'error') {
      // The package reports an error for each frame of an unknown format. The error is ignored here: the completion
      // fails below if nothing usable follows.
      if (isUnknown && isEmpty(draft)) continue
      throw toModelError(part.error)
    }
    if (part.type === 'response-metadata') modelId = part.modelId ?? modelId
    if (part.type === 'finish') {
      const usage = toUsage(part.usage)
      if (unknownFrames > 0 && isEmpty(draft) && !hasEnd(part.finishReason) && !isCounted(usage)) break
      const { parts, toolCalls, finishReason } = whole(draft, part.finishReason, usage)
      const completion = { parts, toolCalls, model: `${model.provider}/${modelId}`, finishReason, usage }
      // The stored completion also contains signatures and the provider's own usage. So the length of its JSON is
      // checked too.
      checkSize(JSON.stringify(completion).length, draft)
      yield { type: 'completion', completion }
      return
    }
    const event = addPart(draft, part)
    characters += charactersIn(part)
    checkSize(characters, draft)
    if (event !== undefined) yield event
  }
  if (unknownFrames > 0 && isEmpty(draft)) throw notUnderstood(unknownFrames)
  throw new ModelError('network', 'the stream ended before the completion did', { retryable: true })
}

const isEmpty = ({ parts, calls }: CompletionDraft): boolean =>
  calls.length === 0 && parts.every((part) => !('text' in part) || part.text === '')

/** Whether the provider reported a reason for the completion's end. */
const hasEnd = ({ unified, raw }: LanguageModelV4FinishReason): boolean =>
  raw !== undefined || !['other', 'error', 'interrupted'].includes(unified)

const isCounted = ({ inputTokens, outputTokens }: Usage): boolean => (inputTokens ?? 0) + (outputTokens ?? 0) > 0

function charactersIn(part: LanguageModelV4StreamPart): number {
  if ('delta' in part && typeof part.delta === 'string') return part.delta.length
  return part.type === 'tool-input-start' ? part.id.length + part.toolName.length : 0
}

function checkSize(characters: number, { parts }: CompletionDraft): void {
  if (characters > MAX_CHARACTERS) throw tooLarge(`${MAX_CHARACTERS.toLocaleString('en')} characters`)
  if (parts.length > MAX_PARTS) throw tooLarge(`${MAX_PARTS.toLocaleString('en')} parts`)
}

const tooLarge = (limit: string): ModelError =>
  new ModelError('provider_error', `the completion exceeds the limit of ${limit}`, { retryable: false })

type GoodEnd = 'stop' | 'length' | 'tool-calls'

/**
 * How a complete completion ended, by the server's finish reason in lower case. Used for finish reasons that the
 * provider's package does not know.
 */
const GOOD_ENDS: ReadonlyMap<string, GoodEnd> = new Map([
  ...(['eos', 'eos_token', 'end_turn', 'stop', 'stop_sequence', 'complete', 'completed'] as const).map(
    (word) => [word, 'stop'] as const,
  ),
  ...(
    [
      'length',
      'max_tokens',
      'max_output_tokens',
      'max_length',
      'model_length',
      'model_context_window_exceeded',
    ] as const
  ).map((word) => [word, 'length'] as const),
  ...(['tool_use', 'tool_call', 'tool_calls', 'function_call'] as const).map((word) => [word, 'tool-calls'] as const),
])

/** Matches finish reasons of a completion that its provider withheld. */
const REFUSED = /filter|sensitive|safety|recitation|prohibited|blocklist|refus|guardrail/i

/** Returns how a complete completion ended; undefined for any other end, including an unknown finish reason. */
function goodEnd({ unified, raw }: LanguageModelV4FinishReason): GoodEnd | undefined {
  if (unified === 'stop' || unified === 'length' || unified === 'tool-calls') return unified
  return unified === 'other' && raw !== undefined ? GOOD_ENDS.get(raw.toLowerCase()) : undefined
}

/**
 * Returns the parts and calls of an ended stream. If they are not a complete completion, throws an error that contains
 * the usage.
 */
function whole(
  draft: CompletionDraft,
  reason: LanguageModelV4FinishReason,
  usage: Usage,
): Pick<Completion, 'parts' | 'toolCalls'> & { readonly finishReason: GoodEnd } {
  try {
    const finishReason = goodEnd(reason)
    if (finishReason === undefined) throw badEnd(reason)
    return { ...completeDraft(draft, finishReason === 'length'), finishReason }
  } catch (error) {
    if (!(error instanceof ModelError)) throw error
    throw new ModelError(error.code, error.message, { retryable: error.retryable, usage })
  }
}

function badEnd({ unified, raw }: { readonly unified: string; readonly raw: string | undefined }): ModelError {
  const word = raw ?? unified
  if (unified === 'interrupted' || (unified === 'other' && raw === undefined))
    return new ModelError('network', 'the stream ended before the completion did', { retryable: true })
  if (unified === 'content-filter' || REFUSED.test(word))
    return new ModelError('refused', `the provider refused the completion (${word})`, { retryable: false })
  return new ModelError('provider_error', `the provider ended the completion with an error (${word})`, {
    retryable: true,
  })
}

/** Converts the provider's usage; null for missing numbers. */
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
    ...definedFields({ provider: raw }),
  }
}
