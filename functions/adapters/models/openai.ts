import { createOpenAI } from '@ai-sdk/openai'
import { definedFields } from '../../domain/defined-fields.ts'
import { isStrict } from '../../domain/runs/request-settings.ts'
import { PLAIN_IDS } from '../../log/request/wire-names.ts'
import { readJson } from '../../log/json/exact-json.ts'
import type { Model } from '../../ports/model.ts'
import type { FetchFunction, KeySettings } from './model-settings.ts'
import { outputTokensFor } from './output-tokens.ts'
import { poolModels } from './pooled-models.ts'
import { createProviderModel } from './provider-model.ts'
import type { ProviderTraits } from './provider-traits.ts'
import { withRawArguments } from './raw-arguments.ts'

const TRAITS: ProviderTraits = {
  arguments: 'raw',
  ids: PLAIN_IDS,
  parsesSchemas: true,
  honoursNone: true,
  refusesBlank: false,
  userMedia: /^(?:image\/.*|application\/pdf|text\/.*)$/,
  toolMedia: /^(?:image\/.*|application\/pdf)$/,
  maxOutputTokens: outputTokensFor('openai', ''),
  // OpenAI requires that the input mentions JSON if the format is `json_object`.
  takesFormat: ({ type }) => (type === 'json_schema' ? true : 'hinted'),
  formatOptions: (format) => ({ openai: { strictJsonSchema: isStrict(format) } }),
  // OpenAI must store nothing, because our log has everything for the next request. Reasoning is in the log in
  // encrypted form.
  options: { openai: { store: false } },
}

/** Opens a model of the OpenAI Responses API. */
export function openOpenAi(modelId: string, settings: KeySettings, fetch: FetchFunction = globalThis.fetch): Model {
  return createProviderModel({
    provider: 'openai',
    modelId,
    traits: TRAITS,
    languageModel: poolModels((raw) => {
      const provider = createOpenAI({
        apiKey: settings.apiKey,
        ...definedFields({ baseURL: settings.baseUrl }),
        fetch: (input, init) => fetch(input, { ...init, ...patchedBody(init?.body, raw.current) }),
      })
      return provider.responses(modelId)
    }),
  })
}

/** Puts the raw arguments into the body. The package would wrap arguments that are not JSON in a second string. */
function patchedBody(body: unknown, raw: readonly string[]): { body?: string } {
  if (raw.length === 0 || typeof body !== 'string') return {}
  const request = readJson(body) as { input?: unknown }
  const items = Array.isArray(request.input) ? request.input : []
  return { body: JSON.stringify({ ...request, input: withRawArguments(items, 'function_call', raw) }) }
}
