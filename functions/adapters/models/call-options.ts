import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { definedFields } from '../../domain/defined-fields.ts'
import type { ModelRequest } from '../../domain/model-request.ts'
import { parsableSchema } from '../../log/json/parsable-schema.ts'
import { toPrompt } from './prompt.ts'
import type { ProviderTraits } from './provider-traits.ts'

/** Converts a request to the provider packages' form. Tools remain declared whatever the tool choice is. */
export function toCallOptions(
  request: ModelRequest,
  traits: ProviderTraits,
  abortSignal: AbortSignal,
): LanguageModelV4CallOptions {
  const { temperature, maxOutputTokens = traits.maxOutputTokens, provider = {} } = request.options
  return {
    prompt: toPrompt(request, traits),
    abortSignal,
    // Frames that the package does not understand are counted.
    includeRawChunks: true,
    ...definedFields({ temperature, maxOutputTokens }),
    ...(request.tools.length === 0
      ? {}
      : { tools: declarations(request, traits), toolChoice: toolChoice(request, traits) }),
    providerOptions: merge(traits.options, provider),
  }
}

function declarations(
  request: ModelRequest,
  { parsesSchemas }: ProviderTraits,
): NonNullable<LanguageModelV4CallOptions['tools']> {
  return request.tools.map(({ name, description, parameters }) => ({
    type: 'function',
    name,
    description,
    inputSchema: parsesSchemas === true ? parsableSchema(parameters) : parameters,
  }))
}

function toolChoice(
  { toolChoice: choice }: ModelRequest,
  traits: ProviderTraits,
): NonNullable<LanguageModelV4CallOptions['toolChoice']> {
  if (typeof choice === 'object') return { type: 'tool', toolName: choice.name }
  return { type: choice === 'none' && !traits.honoursNone ? 'auto' : choice }
}

type Options = NonNullable<LanguageModelV4CallOptions['providerOptions']>

function merge(ours: ProviderTraits['options'], agents: NonNullable<ModelRequest['options']['provider']>): Options {
  const names = new Set([...Object.keys(ours), ...Object.keys(agents)])
  return Object.fromEntries([...names].map((name) => [name, { ...ours[name], ...agents[name] }]))
}
