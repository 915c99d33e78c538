import { z } from 'zod'
import { isJsonObject, type JsonObject } from '../../domain/json.ts'
import { schemaFault } from '../json/argument-schema.ts'

/** Limit of the values in one schema, because each step of a run reads the schema. */
const MAX_SCHEMA_VALUES = 20_000
const MAX_DESCRIPTION_CHARACTERS = 10_000

/** Counts objects, lists, strings and other values. The recursion is safe, because a body's depth is limited. */
export const valuesIn = (value: unknown): number =>
  typeof value === 'object' && value !== null
    ? Object.values(value).reduce((sum: number, one) => sum + valuesIn(one), 1)
    : 1

/** The schema of an answer. Its size, depth and cost are bounded. */
const answerSchema = () =>
  z.custom<JsonObject>(isJsonObject, 'must be an object').superRefine((schema, context) => {
    const fault = schemaFault(schema)
    if (fault !== undefined) context.addIssue({ code: 'custom', path: [...fault.path], message: fault.message })
    else if (valuesIn(schema) > MAX_SCHEMA_VALUES)
      context.addIssue({ code: 'custom', message: `must have at most ${MAX_SCHEMA_VALUES} values` })
  })

/**
 * Creates the fields of a format with a schema. Chat Completions nests them one level deeper. Each call creates new
 * schemas, because only schemas created after the import of zod-openapi can have descriptions.
 */
export const namedSchema = () => ({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1–64 of A-Z a-z 0-9 _ -'),
  description: z.string().max(MAX_DESCRIPTION_CHARACTERS).optional(),
  schema: answerSchema(),
  strict: z.boolean().optional(),
})

export const FORMAT_TYPES = 'must be of type text, json_object or json_schema'

/** Schema of a setting in `agents.json`: the format of completions without calls. */
export const responseFormat = z.discriminatedUnion(
  'type',
  [
    z.strictObject({ type: z.literal('text') }),
    z.strictObject({ type: z.literal('json_object') }),
    z.strictObject({ type: z.literal('json_schema'), ...namedSchema() }),
  ],
  FORMAT_TYPES,
)
