import type { z } from '@hono/zod-openapi'
import type { Usage } from '../../../domain/usage/usage.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { UsageSchema } from '../fields.ts'

/** Tokens as the API shows them. */
export function usageResource(usage: Usage): z.input<typeof UsageSchema> {
  return {
    input_tokens: usage.inputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
    total_tokens: usage.totalTokens,
    ...definedFields({ provider: usage.provider }),
  }
}
