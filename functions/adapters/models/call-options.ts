import type { LanguageModelV4CallOptions } from '@ai-sdk/provider'
import { definedFields } from '../../domain/defined-fields.ts'
import type { ModelRequest } from '../../domain/model-request.ts'
import type { JsonFormat } from '../../domain/runs/request-settings.ts'
import { withPlainNumbers } from '../../log/json/exact-json.ts'
import { parsableSchema } from '../../log/json/parsable-schema.ts'
import { isFieldOf, toPrompt } from './prompt.ts'
import type { ProviderTraits } from './provider-traits.ts'

/** Converts a request to the provider packages' form. Tools remain declared whatever the tool choice is. */
export function toCallOptions(
  request: ModelRequest,
  traits: ProviderTraits,
  abortSignal: AbortSignal,
): LanguageModelV4CallOptions {
  const { temperature, maxOutputTokens = traits.maxOutputTokens, topP, seed, stop, provider = {} } = request.options
  const { reasoningEffort: reasoning } = request.options
  const format = isFieldOf(request, traits) ? request.responseFormat : undefined
  return {
    prompt: toPrompt(request, traits),
    abortSignal,
    // Frames that the package does not understand are counted.
    includeRawChunks: true,
    ...definedFields({ temperature, maxOutputTokens, topP, seed, reasoning }),
    ...definedFields({
      stopSequences: stopSequences(stop, traits),
      responseFormat: format && formatField(format, traits),
    }),
    ...(request.tools.length === 0
      ? {}
      : { tools: declarations(request, traits), toolChoice: toolChoice(request, traits) }),
    providerOptions: merge(merge(traits.options, (format && traits.formatOptions?.(format)) ?? {}), provider),
  }
}

/** Returns the stop sequences to send. Omits blank ones for providers that reject blank texts. */
function stopSequences(stop: readonly string[] = [], { refusesBlank }: ProviderTraits): string[] | undefined {
  const sent = refusesBlank ? stop.filter((text) => text.trim() !== '') : [...stop]
  return sent.length === 0 ? undefined : sent
}

const formatField = (
  format: JsonFormat,
  { parsesSchemas }: ProviderTraits,
): NonNullable<LanguageModelV4CallOptions['responseFormat']> =>
  format.type === 'json_object'
    ? { type: 'json' }
    : {
        type: 'json',
        name: format.name,
        ...definedFields({ description: format.description }),
        schema: withPlainNumbers(parsesSchemas === true ? parsableSchema(format.schema) : format.schema),
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

function merge(ours: Options, agents: NonNullable<ModelRequest['options']['provider']>): Options {
  const names = new Set([...Object.keys(ours), ...Object.keys(agents)])
  return Object.fromEntries([...names].map((name) => [name, { ...ours[name], ...agents[name] }]))
}
