import { createAmazonBedrock } from '@ai-sdk/amazon-bedrock'
import { PLAIN_IDS } from '../../log/request/wire-names.ts'
import { definedFields } from '../../domain/defined-fields.ts'
import type { Model } from '../../ports/model.ts'
import type { BedrockSettings, FetchFunction } from './model-settings.ts'
import { outputTokensFor } from './output-tokens.ts'
import { createProviderModel } from './provider-model.ts'
import type { ProviderTraits } from './provider-traits.ts'

const TRAITS: Omit<ProviderTraits, 'maxOutputTokens'> = {
  arguments: 'parsed',
  ids: PLAIN_IDS,
  // With `none`, the package would drop the tools, and with them the calls of the history.
  honoursNone: false,
  // Converse has no field for a format. The package would force a call instead, which would override the tool choice.
  takesFormat: () => false,
  refusesBlank: true,
  userMedia: /^(?:image\/(?:jpeg|png|gif|webp)|application\/pdf|text\/.*)$/,
  toolMedia: /^image\/(?:jpeg|png|gif|webp)$/,
  options: {},
}

/** Opens a model of the Amazon Bedrock Converse API. */
export function openBedrock(modelId: string, settings: BedrockSettings, fetch: FetchFunction | undefined): Model {
  const { region, apiKey, credentials, baseUrl } = settings
  const provider = createAmazonBedrock({
    region,
    ...definedFields({ apiKey, credentialProvider: credentials, baseURL: baseUrl, fetch }),
  })
  const model = provider(modelId)
  const traits = { ...TRAITS, maxOutputTokens: outputTokensFor('bedrock', modelId) }
  return createProviderModel({ provider: 'bedrock', modelId, traits, languageModel: () => model })
}
