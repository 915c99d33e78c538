import { z } from '@hono/zod-openapi'
import { SESSION_PATTERN, ULID_PATTERN } from '../../domain/ids.ts'
import { isJsonObject, type JsonObject } from '../../domain/json.ts'

/** Limit of the metadata's JSON, in bytes. */
const METADATA_LIMIT = 16 * 1024

const EXAMPLE_ULID = '01JD2Q8N4T6W8Y0A2C4E6G8J0K'

export const BAD_SESSION_ID = 'must be 1–128 of A-Z a-z 0-9 . _ : - and start with a letter or digit'
export const sessionId = z.string().regex(SESSION_PATTERN, BAD_SESSION_ID).openapi({ example: 'support-7' })
export const ulid = z.string().regex(ULID_PATTERN, 'must be a ULID').openapi({ example: EXAMPLE_ULID })
/** The fields that name the delegate call of a team member. */
export const parentNames = {
  parent_tool_call_id: z.string().optional(),
  parent_message_id: ulid.optional().openapi({ description: 'Message id of the delegate call; call ids may repeat.' }),
}
export const toolName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1–64 of A-Z a-z 0-9 _ -')
  .openapi({ example: 'get_weather' })
/** The owner of a session, or the author of an input. */
export const person = z.string().min(1).max(256).openapi({ example: 'user-7' })
export const agentName = z.string().min(1).max(128).openapi({ example: 'default' })
export const time = z.string().openapi({ format: 'date-time', example: '2026-11-21T09:30:00.000Z' })

/** A date or a time in a query. */
export const moment = z
  .union(
    [z.iso.datetime({ offset: true, local: true }), z.iso.date()],
    'must be a date such as 2026-11-14 or a time such as 2026-11-14T09:30:00Z; without a zone it is UTC',
  )
  .openapi({ type: 'string', example: '2026-11-14T00:00:00Z' })

/** Any JSON object. */
export const jsonObject = z
  .custom<JsonObject>(isJsonObject, 'must be an object')
  .openapi({ type: 'object', additionalProperties: true })

/** The caller's own fields, stored and returned unchanged. */
export const metadata = z
  .custom<JsonObject>(isJsonObject, 'must be an object')
  .refine((value) => JSON.stringify(value).length <= METADATA_LIMIT, 'must have at most 16 KB of JSON')
  .openapi({ type: 'object', additionalProperties: true, example: { ticket: 'T-1' } })

const MAX_TEXTS = 64
const isTexts = (value: unknown): value is Record<string, string> =>
  isJsonObject(value) &&
  Object.keys(value).length <= MAX_TEXTS &&
  Object.entries(value).every(([name, text]) => name.length <= 64 && typeof text === 'string' && text.length <= 512)

/**
 * Metadata in OpenAI's format. They are checked as a whole, because a zod record would report each of 100,000 wrong
 * values.
 */
export const texts = z
  .custom<Record<string, string>>(
    isTexts,
    `must be an object of at most ${MAX_TEXTS} strings, with names of at most 64 and values of at most 512 characters`,
  )
  .openapi({ type: 'object', maxProperties: MAX_TEXTS, additionalProperties: { type: 'string', maxLength: 512 } })

/**
 * An optional object that may be null. If the schema names its own type, `nullish` alone does not add null to the API's
 * description.
 */
export const objectOrNull = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().openapi({ type: ['object', 'null'] })

export const sessionParams = z.object({ session: pathParam('session', sessionId) })
export const runParams = z.object({ session: pathParam('session', sessionId), run: pathParam('run', ulid) })
export const messageParams = z.object({ session: pathParam('session', sessionId), message: pathParam('message', ulid) })

function pathParam<Schema extends z.ZodString>(name: string, schema: Schema): Schema {
  return schema.openapi({ param: { name, in: 'path' } })
}

/** The size of a page, from 1 to `most`. */
export function pageLimit(most: number, fallback: number) {
  const wanted = `must be an integer from 1 to ${most}`
  return z
    .string()
    .regex(/^[0-9]{1,6}$/, wanted)
    .transform(Number)
    .pipe(z.number().min(1, wanted).max(most, wanted))
    .default(fallback)
    .openapi({ type: 'integer', minimum: 1, maximum: most, default: fallback, example: fallback })
}

/** Limit of a list's cursor, in characters. */
const MAX_CURSOR_CHARS = 64
export const cursor = z
  .string()
  .regex(new RegExp(`^[\\w.-]{1,${MAX_CURSOR_CHARS}}$`), 'must be the `next` of a page of this list')

/** A page of a list. The client passes `next` as `after` for the next page. */
export function page<Item extends z.ZodType, More extends z.ZodRawShape = Record<never, never>>(
  name: string,
  item: Item,
  more?: More,
) {
  return z
    .object({
      object: z.literal('list'),
      data: z.array(item),
      next: z.string().nullable().openapi({
        description: 'Value of `after` for the next page; null on the last page. At most 64 characters.',
      }),
      has_more: z.boolean(),
    })
    .extend(more ?? ({} as More))
    .openapi(name)
}

export const UsageSchema = z
  .object({
    input_tokens: z.number().int().nullable(),
    cached_input_tokens: z.number().int().nullable(),
    cache_write_tokens: z.number().int().nullable(),
    output_tokens: z.number().int().nullable(),
    reasoning_tokens: z.number().int().nullable(),
    total_tokens: z.number().int().nullable(),
    provider: jsonObject.optional().openapi({ description: "The provider's own usage object, as sent." }),
  })
  .openapi('Usage', { description: 'Numbers of tokens; null if the provider did not report them.' })

export const ProblemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    detail: z.string(),
    instance: z.string(),
    request_id: z.string(),
    errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  })
  .openapi('Problem', {
    description: 'A problem (RFC 9457).',
    example: {
      type: 'urn:tooltrail:problem:session_not_found',
      title: 'Not found',
      status: 404,
      detail: 'there is no session support-8',
      instance: '/v1/sessions/support-8',
      request_id: '5f0c3a52-7d1f-4f43-9d53-5f7cf1a6f2c1',
    },
  })

/** The mark of runs, messages and hits that another run has replaced. */
export const supersededBy = ulid.optional().openapi({
  description: 'Id of the run that replaced this run first. Requests omit its messages.',
})
