import { z } from '@hono/zod-openapi'
import { definedFields } from '../../domain/defined-fields.ts'
import { REASONING_EFFORTS } from '../../domain/runs/request-settings.ts'
import type { JsonFormat, RequestSettings, SamplingOptions } from '../../domain/runs/request-settings.ts'
import { FORMAT_TYPES, namedSchema } from '../../log/formats/response-format.ts'
import { objectOrNull } from '../v1/fields.ts'
import { samplingFields, stopTexts } from '../v1/messages/settings-schema.ts'

const CHOICES = 'must be auto, none, required or a function'

const words = z.enum(['auto', 'none', 'required'])
/**
 * The name of a function. Its form is not checked here: a name that belongs to no tool is rejected later, with its
 * path.
 */
const functionName = z.string().min(1).max(128)

/** Fields of a format with a schema. Optional fields may be null. */
function schemaFields() {
  const { name, description, schema, strict } = namedSchema()
  return {
    name,
    description: description.nullish(),
    schema: objectOrNull(schema.openapi({ type: 'object', additionalProperties: true })),
    strict: strict.nullish(),
  }
}

const plainFormats = [z.object({ type: z.literal('text') }), z.object({ type: z.literal('json_object') })] as const

const effort = z.string().max(64).nullish()

/** Fields of a Chat Completions request that decide how its run works. */
export const chatSettingsFields = {
  response_format: z
    .discriminatedUnion(
      'type',
      [...plainFormats, z.object({ type: z.literal('json_schema'), json_schema: z.object(schemaFields()) })],
      FORMAT_TYPES,
    )
    .nullish(),
  tool_choice: z
    .union([words, z.object({ type: z.literal('function'), function: z.object({ name: functionName }) })], CHOICES)
    .nullish(),
  stop: z.union([z.string(), stopTexts], 'must be a text or a list of at most 4 texts').nullish(),
  temperature: samplingFields.temperature.nullish(),
  top_p: samplingFields.top_p.nullish(),
  max_tokens: samplingFields.max_output_tokens.nullish(),
  max_completion_tokens: samplingFields.max_output_tokens.nullish(),
  seed: samplingFields.seed.nullish(),
  reasoning_effort: effort,
}

/** Fields of a request for a Response that decide how its run works. */
export const responseSettingsFields = {
  text: z
    .object({
      format: z
        .discriminatedUnion(
          'type',
          [...plainFormats, z.object({ type: z.literal('json_schema'), ...schemaFields() })],
          FORMAT_TYPES,
        )
        .nullish(),
    })
    .nullish(),
  tool_choice: z
    .union(
      [words, z.object({ type: z.literal('function'), name: functionName, namespace: z.string().nullish() })],
      CHOICES,
    )
    .nullish(),
  temperature: samplingFields.temperature.nullish(),
  top_p: samplingFields.top_p.nullish(),
  max_output_tokens: samplingFields.max_output_tokens.nullish(),
  reasoning: z.object({ effort }).nullish(),
}

type Fields<Schemas extends { readonly [field: string]: z.ZodType }> = {
  readonly [Field in keyof Schemas]?: z.output<Schemas[Field]>
}
type ChatFields = Fields<typeof chatSettingsFields>
type ResponseFields = Fields<typeof responseSettingsFields>
type SchemaFields = Extract<NonNullable<ChatFields['response_format']>, { type: 'json_schema' }>['json_schema']

/** Reads the settings of a Chat Completions request. */
export function chatSettings(body: ChatFields): RequestSettings {
  const { response_format: format, tool_choice: choice, stop } = body
  return {
    responseFormat: format?.type === 'json_schema' ? formatOf(format.json_schema) : (format ?? undefined),
    toolChoice: typeof choice === 'object' && choice !== null ? { name: choice.function.name } : (choice ?? undefined),
    stop: typeof stop === 'string' ? [stop] : (stop ?? undefined),
    options: options(
      { ...body, max_output_tokens: body.max_completion_tokens ?? body.max_tokens },
      body.reasoning_effort,
    ),
  }
}

/** Reads the settings of a request for a Response. `nameOf` returns the name by which the model knows a tool. */
export function responseSettings(
  body: ResponseFields,
  nameOf: (namespace: string | null | undefined, name: string) => string,
): RequestSettings {
  const { tool_choice: choice } = body
  const format = body.text?.format
  return {
    responseFormat: format?.type === 'json_schema' ? formatOf(format) : (format ?? undefined),
    toolChoice:
      typeof choice === 'object' && choice !== null
        ? { name: nameOf(choice.namespace, choice.name) }
        : (choice ?? undefined),
    options: options(body, body.reasoning?.effort),
  }
}

const formatOf = ({ name, description, schema, strict }: SchemaFields): JsonFormat => ({
  type: 'json_schema',
  name,
  schema: schema ?? {},
  ...definedFields({ description: description ?? undefined, strict: strict ?? undefined }),
})

type Sampling = {
  readonly [Field in 'temperature' | 'top_p' | 'max_output_tokens' | 'seed']?: number | null | undefined
}

/** Reads the options of a request. An effort that is not known here is ignored, because new models add efforts. */
function options(body: Sampling, wanted: string | null | undefined): SamplingOptions {
  return definedFields({
    temperature: body.temperature ?? undefined,
    topP: body.top_p ?? undefined,
    maxOutputTokens: body.max_output_tokens ?? undefined,
    seed: body.seed ?? undefined,
    reasoningEffort: REASONING_EFFORTS.find((known) => known === wanted),
  })
}
