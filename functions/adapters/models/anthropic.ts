import { createAnthropic } from '@ai-sdk/anthropic'
import { isClosedSchema } from '../../log/json/closed-schema.ts'
import { PLAIN_IDS } from '../../log/request/wire-names.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import type { Model } from '../../ports/model.ts'
import type { FetchFunction, KeySettings } from './model-settings.ts'
import { outputTokensFor } from './output-tokens.ts'
import { createProviderModel } from './provider-model.ts'
import type { ProviderTraits } from './provider-traits.ts'

/** Matches the models that do not support structured outputs. */
const WITHOUT_FORMAT = /claude-(?:instant|[123]|(?:opus|sonnet)-4-(?:0|20))/

const TRAITS: Omit<ProviderTraits, 'takesFormat'> = {
  arguments: 'parsed',
  ids: PLAIN_IDS,
  honoursNone: true,
  refusesBlank: true,
  userMedia: /^(?:image\/(?:jpeg|png|gif|webp)|application\/pdf|text\/.*)$/,
  toolMedia: /^(?:image\/(?:jpeg|png|gif|webp)|application\/pdf)$/,
  maxOutputTokens: outputTokensFor('anthropic', ''),
  // With any other mode, the package might force a call, which would override the tool choice.
  formatOptions: () => ({ anthropic: { structuredOutputMode: 'outputFormat' } }),
  // The provider moves the cache breakpoint. If we marked a message instead, messages would change from request to
  // request.
  options: { anthropic: { cacheControl: { type: 'ephemeral' } } },
}

/** Opens a model of the Anthropic Messages API. */
export function openAnthropic(modelId: string, settings: KeySettings, fetch: FetchFunction | undefined): Model {
  const provider = createAnthropic({
    apiKey: settings.apiKey,
    ...definedFields({ baseURL: settings.baseUrl, fetch }),
  })
  const model = provider(modelId)
  const traits: ProviderTraits = {
    ...TRAITS,
    // The field accepts only schemas that name every property of their objects.
    takesFormat: (format) =>
      format.type === 'json_schema' && !WITHOUT_FORMAT.test(modelId) && isClosedSchema(format.schema),
  }
  return createProviderModel({ provider: 'anthropic', modelId, traits, languageModel: () => model })
}
