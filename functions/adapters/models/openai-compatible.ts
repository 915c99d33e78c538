import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { definedFields } from '../../domain/defined-fields.ts'
import { isStrict } from '../../domain/runs/request-settings.ts'
import { CHAT_IDS } from '../../log/request/wire-names.ts'
import type { Model } from '../../ports/model.ts'
import type { FetchFunction, ServerSettings } from './model-settings.ts'
import { outputTokensFor } from './output-tokens.ts'
import { poolModels } from './pooled-models.ts'
import { createProviderModel } from './provider-model.ts'
import type { ProviderTraits } from './provider-traits.ts'
import { withRawToolCalls } from './raw-arguments.ts'

const TRAITS: ProviderTraits = {
  arguments: 'raw',
  ids: CHAT_IDS,
  honoursNone: true,
  refusesBlank: false,
  // If the model may call tools, the field is not sent: a server that enforces the format would prevent calls.
  // Otherwise, both the field and the instructions are sent, because some servers ignore the field. A server that
  // rejects the field gets the instructions alone (`RepairStep`).
  takesFormat: (_format, mayCall) => (mayCall ? false : 'hinted'),
  formatOptions: (format) => ({ openaiCompatible: { strictJsonSchema: isStrict(format) } }),
  userMedia: /^(?:image\/.*|application\/pdf|text\/.*)$/,
  // Tool results must not contain media, because Chat Completions would send them as base64 text.
  toolMedia: /^(?!)/,
  maxOutputTokens: outputTokensFor('openai-compatible', ''),
  options: {},
}

/** Opens a model of any server that speaks Chat Completions. */
export function openCompatible(modelId: string, settings: ServerSettings, fetch: FetchFunction | undefined): Model {
  return createProviderModel({
    provider: 'openai-compatible',
    modelId,
    traits: TRAITS,
    languageModel: poolModels((raw) => {
      const provider = createOpenAICompatible({
        name: 'openaiCompatible',
        baseURL: settings.baseUrl,
        includeUsage: true,
        supportsStructuredOutputs: true,
        transformRequestBody: (body) => ({ ...body, messages: withRawToolCalls(body['messages'], raw.current) }),
        ...definedFields({ apiKey: settings.apiKey, fetch }),
      })
      return provider.chatModel(modelId)
    }),
  })
}
