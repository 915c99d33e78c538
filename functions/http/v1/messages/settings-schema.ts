import { z } from '@hono/zod-openapi'
import { definedFields } from '../../../domain/defined-fields.ts'
import { MAX_STOP_CHARACTERS, MAX_STOPS, REASONING_EFFORTS } from '../../../domain/runs/request-settings.ts'
import type { RequestSettings, SamplingOptions } from '../../../domain/runs/request-settings.ts'
import { FORMAT_TYPES, namedSchema } from '../../../log/formats/response-format.ts'
import { toolName } from '../fields.ts'

const named = namedSchema()
const object = { type: 'object', additionalProperties: true } as const

/** The format of completions without calls. */
const formatField = z
  .discriminatedUnion(
    'type',
    [
      z.strictObject({ type: z.literal('text') }),
      z.strictObject({ type: z.literal('json_object') }),
      z.strictObject({
        type: z.literal('json_schema'),
        ...named,
        schema: named.schema.openapi({
          ...object,
          description: 'JSON Schema of the answer.',
          example: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        }),
        strict: named.strict.openapi({ description: 'Passed to providers that know it. Default: false.' }),
      }),
    ],
    FORMAT_TYPES,
  )
  .openapi('ResponseFormat', {
    description:
      'Format of completions without calls. An answer that does not fit is requested once more. The run then shows `output`.',
  })

export const stopTexts = z.array(z.string().min(1).max(MAX_STOP_CHARACTERS)).max(MAX_STOPS)

/** Options of a model request, which apply if the agent accepts them. */
export const samplingFields = {
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  max_output_tokens: z.int().min(1).max(10_000_000).optional(),
  seed: z.int().optional(),
  reasoning_effort: z.enum(REASONING_EFFORTS).optional(),
}

/** Fields of a message that decide how its run works. */
export const settingsFields = {
  response_format: formatField.optional(),
  tool_choice: z
    .union(
      [z.enum(['auto', 'none', 'required']), z.strictObject({ name: toolName })],
      'must be auto, none, required or {name}',
    )
    .optional()
    .openapi({ description: "Choice for the run's first round; `auto` afterwards." }),
  stop: stopTexts.optional().openapi({ description: 'Texts at which the model stops.' }),
  ...samplingFields,
}

type Sampling = { readonly [Field in keyof typeof samplingFields]?: z.output<(typeof samplingFields)[Field]> | null }

/** Converts the options of a request. Options with the value null count as absent. */
const samplingOptions = (body: Sampling): SamplingOptions =>
  definedFields({
    temperature: body.temperature ?? undefined,
    topP: body.top_p ?? undefined,
    maxOutputTokens: body.max_output_tokens ?? undefined,
    seed: body.seed ?? undefined,
    reasoningEffort: body.reasoning_effort ?? undefined,
  })

type Settings = { readonly [Field in keyof typeof settingsFields]?: z.output<(typeof settingsFields)[Field]> }

/** Converts the settings of a message. */
export const requestSettings = (body: Settings): RequestSettings => ({
  responseFormat: body.response_format,
  toolChoice: body.tool_choice,
  stop: body.stop,
  options: samplingOptions(body),
})
