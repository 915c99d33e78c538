import { z } from '@hono/zod-openapi'
import type { Json } from '../../../domain/json.ts'
import { MAX_SOURCES } from '../../../domain/messages/source.ts'
import { schemaFault } from '../../../log/json/argument-schema.ts'
import { valuesIn } from '../../../log/formats/response-format.ts'
import { jsonObject, metadata, person, toolName, ulid } from '../fields.ts'
import { settingsFields } from './settings-schema.ts'

const MAX_PARTS = 64
/** Limit of the client tools of a request. */
export const MAX_TOOLS = 128
/** Limit of a tool's description. A whole tool of an MCP server has the same limit (docs/reference/mcp.md, "Limits"). */
const MAX_DESCRIPTION_CHARACTERS = 65_536
/** Limit of the values in client tools, because each step of a run reads them. */
const MAX_TOOL_VALUES = 20_000
const MAX_RESULTS = 64
const MAX_URL_CHARACTERS = 8_192
const MEDIA_TYPE = /^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,63}\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,63}$/
/**
 * An image type that providers accept. A rejected image would fail this run and every later run that sends it again.
 */
const IMAGE_TYPE = /^[Ii][Mm][Aa][Gg][Ee]\/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,63}$/
/** No control characters, no folders. */
// eslint-disable-next-line no-control-regex
export const FILENAME = /^[^\u0000-\u001f\u007f/\\]{1,255}$/

const base64 = z
  .string()
  .min(4)
  .refine((text) => Buffer.from(text, 'base64').toString('base64') === text, 'must be base64 (RFC 4648, padded)')
  .openapi({ format: 'byte', example: 'iVBORw0KGgo=' })

const upload = {
  filename: z.string().regex(FILENAME, 'must be a file name, without a folder').optional(),
  data: base64,
}

const givenPart = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({
    type: z.literal('image'),
    media_type: z
      .string()
      .regex(IMAGE_TYPE, 'must be the media type of an image, such as image/png')
      .openapi({ example: 'image/png' }),
    ...upload,
  }),
  z.strictObject({
    type: z.literal('file'),
    media_type: z
      .string()
      .regex(MEDIA_TYPE, 'must be a media type, such as text/plain')
      .openapi({ example: 'text/plain' }),
    ...upload,
  }),
])
const imageByAddress = z.strictObject({
  type: z.literal('image'),
  url: z
    .string()
    .max(MAX_URL_CHARACTERS)
    .refine((text) => URL.canParse(text), 'must be an address, such as https://example.com/dot.png')
    .openapi({ format: 'uri', description: 'Fetched before the input is accepted.' }),
  filename: upload.filename,
})
const contentPart = z.union([givenPart, imageByAddress])
export const contentParts = z.array(contentPart).min(1).max(MAX_PARTS)

const argumentSchema = jsonObject.superRefine((schema, context) => {
  const fault = schemaFault(schema)
  if (fault !== undefined) context.addIssue({ code: 'custom', path: [...fault.path], message: fault.message })
})

export const clientTool = z
  .strictObject({
    name: toolName,
    description: z.string().max(MAX_DESCRIPTION_CHARACTERS),
    parameters: argumentSchema.openapi({
      type: 'object',
      additionalProperties: true,
      description: 'JSON Schema of the arguments.',
      example: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    }),
    strict: z.boolean().optional().openapi({
      description:
        'Calls whose arguments are not JSON or do not fit `parameters` get an error result at once, and do not wait for you. Default: false.',
    }),
  })
  .openapi('ClientTool', { description: 'A tool that you execute: its calls wait for your tool result.' })

/** A list of client tools with unique names. */
export const toolList = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item)
    .max(MAX_TOOLS)
    .refine((tools) => valuesIn(tools) <= MAX_TOOL_VALUES, `must have at most ${MAX_TOOL_VALUES} values in all`)

export const newMessage = z
  .strictObject({
    content: z.union([z.string(), contentParts], 'must be a string or a list of 1–64 parts').optional().openapi({
      description: 'Required, except with `replaces`: without it, the input of the replaced run is sent again.',
    }),
    replaces: z.string().max(128).optional().openapi({
      description:
        'Id of an ended run of this session. This run and all later runs are superseded: requests omit their messages, and the log keeps them. If a run of the session has not ended, the response is 409 `session_busy`, whatever `on_busy` says.',
      example: '01JD2Q8N4T6W8Y0A2C4E6G8J0K',
    }),
    user: person.optional(),
    metadata: metadata.optional(),
    tools: toolList(clientTool).optional().openapi({ description: 'Tools with different names.', uniqueItems: true }),
    on_busy: z.enum(['queue', 'reject', 'steer']).optional().openapi({
      description: "Handling of the input while a run is active; by default the agent's policy.",
    }),
    callback: z
      .string()
      .regex(/^[a-z0-9-]{1,64}$/, 'must be 1–64 of a-z 0-9 -')
      .optional()
      .openapi({ description: "Name in `callbacks` of the settings: receives the run's end and pauses." }),
    ...settingsFields,
  })
  .superRefine(({ content, replaces }, context) => {
    if (content === undefined && replaces === undefined)
      context.addIssue({ code: 'custom', path: ['content'], message: 'must be a string or a list of 1–64 parts' })
  })
  .openapi('NewMessage', { example: { content: 'What time is it?' } })

const toolCallId = z.string().min(1).max(2_048).optional().openapi({
  description:
    'Id of the call. Models may reuse ids. If several calls of the run that wait or have waited have this id, `message_id` is required; without it, the response is 409 `ambiguous_call` and names the candidates.',
})
const messageId = ulid.optional().openapi({
  description: 'Message id of the call, from `waiting`. Either this or `tool_call_id` is required.',
})
/** The sources of a result. The handler checks them, and responds with 422 if they are invalid. */
const sources = z
  .custom<Json>((value) => value !== undefined)
  .optional()
  .openapi({
    type: 'array',
    maxItems: MAX_SOURCES,
    description: 'Where the output comes from: numbered for the model, which can cite it.',
    items: {
      type: 'object',
      required: ['title'],
      properties: {
        title: { type: 'string', minLength: 1, maxLength: 2_000 },
        url: { type: 'string', format: 'uri', description: 'http or https.' },
        text: { type: 'string' },
        id: { type: 'string', maxLength: 1_000 },
      },
    },
  })
const callResolution = z.union(
  [
    z.strictObject({
      tool_call_id: toolCallId,
      message_id: messageId,
      output: z
        .custom<Json>((value) => value !== undefined)
        .openapi({
          description: 'Text, a list of parts, or any other JSON value.',
          type: ['string', 'array', 'object', 'number', 'boolean', 'null'],
          items: {},
        }),
      sources,
    }),
    z.strictObject({ tool_call_id: toolCallId, message_id: messageId, error: z.string() }),
    z.strictObject({ tool_call_id: toolCallId, message_id: messageId, approve: z.boolean() }),
  ],
  'must have a message_id or tool_call_id, and exactly one of output, error (a string), approve (true or false)',
)

export const toolResults = z
  .strictObject({
    results: z
      .array(callResolution)
      .min(1)
      .max(MAX_RESULTS)
      .openapi({ description: 'At most one for each call.', uniqueItems: true }),
  })
  .openapi('ToolResults', { example: { results: [{ message_id: '01JD2Q8N4T6W8Y0A2C4E6G8J0P', output: '18 °C' }] } })

export const runHeaders = z.object({
  'idempotency-key': z
    .string()
    .regex(/^[\x20-\x7e]{1,255}$/, 'must be 1–255 printable ASCII characters')
    .optional()
    .openapi({ description: 'The same key with the same body gives the same run.', example: 'order-42-attempt-1' }),
})
