import { z } from '@hono/zod-openapi'
import { responseSettingsFields } from '../settings-fields.ts'
import { agentName, jsonObject, objectOrNull, person, texts as metadata } from '../../v1/fields.ts'
import { toolList } from '../../v1/messages/input-schema.ts'
import { responseTool } from './request/tool-schemas.ts'

const inputImage = z.object({
  type: z.literal('input_image'),
  image_url: z.string().nullish(),
  file_id: z.null('is not supported: send the image as image_url').optional(),
})
const inputFile = z.object({
  type: z.literal('input_file'),
  filename: z.string().optional(),
  file_data: z.string().nullish(),
  file_id: z.null('is not supported: send the file as file_data').optional(),
  file_url: z.null('is not supported: send the file as file_data').optional(),
})
const text = z.object({ type: z.enum(['input_text', 'output_text', 'text']), text: z.string() })
const refusal = z.object({ type: z.literal('refusal'), refusal: z.string() })
const TEXTS = 'must be a text or a list of parts'
const texts = z.union([z.string(), z.array(text).min(1)], TEXTS)

const message = z.discriminatedUnion(
  'role',
  [
    z.object({ type: z.literal('message'), role: z.enum(['system', 'developer']), content: texts }),
    z.object({
      type: z.literal('message'),
      role: z.literal('user'),
      content: z.union(
        [
          z.string(),
          z
            .array(
              z.discriminatedUnion(
                'type',
                [text, inputImage, inputFile],
                'must be of type input_text, input_image or input_file',
              ),
            )
            .min(1)
            .max(64),
        ],
        TEXTS,
      ),
    }),
    z.object({
      type: z.literal('message'),
      role: z.literal('assistant'),
      content: z.union([z.string(), z.array(z.discriminatedUnion('type', [text, refusal]))], TEXTS),
    }),
  ],
  'must have the role system, developer, user or assistant',
)
const callId = z.string().min(1).max(2_048)

/** An item without a type is a message, or a reference if it has only an id. */
function withType(item: unknown): unknown {
  if (typeof item !== 'object' || item === null || ('type' in item && item.type !== null)) return item
  return { ...item, type: 'id' in item && !('role' in item) ? 'item_reference' : 'message' }
}

/** An item of a request: a message, a call, its result, or a reference to an item. Reasoning is ignored. */
export const inputItem = z.preprocess(
  withType,
  z.discriminatedUnion(
    'type',
    [
      message,
      z.object({
        type: z.literal('function_call'),
        call_id: callId,
        name: z.string(),
        namespace: z.string().nullish(),
        arguments: z.string(),
      }),
      z.object({ type: z.literal('function_call_output'), call_id: callId, output: texts }),
      z.object({ type: z.literal('item_reference'), id: z.string().min(1).max(256) }),
      z.object({ type: z.literal('reasoning') }),
    ],
    'must be of type message, function_call, function_call_output, item_reference or reasoning',
  ),
)
export type InputItem = z.output<typeof inputItem>

/** The id of a Response. */
export const RESPONSE_ID = /^resp_([0-7][0-9A-HJKMNP-TV-Z]{25})(?:\.([1-9][0-9]{0,5}))?$/

/** The items of a request. The handler checks them, because an item may omit its type. */
export const requestItems = z.array(jsonObject)

/** Fields of unsupported features. Only values that do not request such a feature are accepted. */
const refused = {
  prompt: z.null('is not supported').optional(),
  truncation: z.enum(['disabled', 'auto']).nullish(),
  top_logprobs: z.union([z.literal(0, 'is not supported'), z.null()]).optional(),
  max_tool_calls: z.null('is not supported: the limit of rounds is a setting of the agent').optional(),
  context_management: z.null('is not supported: consolidation is a setting of the agent').optional(),
}

export const responseRequest = z
  .object({
    model: agentName,
    input: z.union([z.string(), requestItems], 'must be a text or a list of items'),
    instructions: z.string().nullish(),
    previous_response_id: z.string().nullish(),
    conversation: z
      .union([z.string(), z.object({ id: z.string() }).transform(({ id }) => id)], 'must be an id or an object with it')
      .nullish(),
    store: z.boolean().nullish(),
    stream: z.boolean().nullish(),
    background: z.boolean().nullish(),
    tools: toolList(responseTool).nullish(),
    metadata: objectOrNull(metadata),
    user: person.nullish(),
    safety_identifier: person.nullish(),
    prompt_cache_key: z.string().max(1_024).nullish(),
    ...responseSettingsFields,
    ...refused,
  })
  .openapi('ResponseRequest', {
    description:
      "The request of OpenAI's API. `model` names an agent. The agent's own settings apply. `temperature` and similar fields are ignored, unless its policy `request_options` accepts them.",
    example: { model: 'default', input: 'What time is it?' },
  })
export type ResponseRequest = z.output<typeof responseRequest>

const { input, instructions, previous_response_id, conversation, tools, tool_choice } = responseRequest.shape

export const inputTokensRequest = z
  .object({
    ...{ model: agentName.nullish(), input: input.nullish(), instructions, previous_response_id, conversation },
    ...{ tools, tool_choice },
  })
  .openapi('InputTokensRequest', {
    description: 'The fields of a request for a Response. All are optional.',
    example: { model: 'default', input: 'What time is it?' },
  })
export type InputTokensRequest = z.output<typeof inputTokensRequest>

export const shownItem = jsonObject.openapi({ type: 'object', additionalProperties: true, description: 'An item.' })

export const ResponseSchema = z
  .object({
    id: z.string(),
    object: z.literal('response'),
    created_at: z.int(),
    completed_at: z.int().nullable(),
    status: z.enum(['queued', 'in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
    background: z.boolean(),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    incomplete_details: z.object({ reason: z.string() }).nullable(),
    instructions: z.string().nullable(),
    max_output_tokens: z.null(),
    max_tool_calls: z.null(),
    metadata: jsonObject,
    model: z.string(),
    output: z.array(shownItem),
    parallel_tool_calls: z.literal(true),
    previous_response_id: z.string().nullable(),
    conversation: z.object({ id: z.string() }),
    store: z.boolean(),
    presence_penalty: z.number(),
    frequency_penalty: z.number(),
    prompt_cache_key: z.string().nullable(),
    reasoning: z.null(),
    safety_identifier: z.string().nullable(),
    service_tier: z.literal('default'),
    temperature: z.number(),
    text: z.object({ format: jsonObject }),
    tool_choice: z.union([z.enum(['auto', 'none', 'required']), jsonObject]),
    tools: z.array(jsonObject),
    top_logprobs: z.literal(0),
    top_p: z.number(),
    truncation: z.literal('disabled'),
    usage: z
      .object({
        input_tokens: z.int(),
        input_tokens_details: z.object({ cached_tokens: z.int(), cache_write_tokens: z.int() }),
        output_tokens: z.int(),
        output_tokens_details: z.object({ reasoning_tokens: z.int() }),
        total_tokens: z.int(),
      })
      .nullable(),
    user: z.string().nullable(),
  })
  .openapi('ResponseResource', {
    example: {
      id: 'resp_01JD2Q8N4T6W8Y0A2C4E6G8J0K',
      object: 'response',
      created_at: 1_795_253_400,
      completed_at: 1_795_253_401,
      status: 'completed',
      background: false,
      error: null,
      incomplete_details: null,
      instructions: null,
      max_output_tokens: null,
      max_tool_calls: null,
      metadata: {},
      model: 'default',
      output: [
        {
          id: 'msg_01JD2Q8N4T6W8Y0A2C4E6G8J0K_0_0',
          type: 'message',
          status: 'completed',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'It is half past nine.', annotations: [], logprobs: [] }],
        },
      ],
      parallel_tool_calls: true,
      previous_response_id: null,
      conversation: { id: '01JD2Q8N4T6W8Y0A2C4E6G8J0J' },
      store: true,
      presence_penalty: 0,
      frequency_penalty: 0,
      prompt_cache_key: null,
      reasoning: null,
      safety_identifier: null,
      service_tier: 'default',
      temperature: 1,
      text: { format: { type: 'text' } },
      tool_choice: 'auto',
      tools: [],
      top_logprobs: 0,
      top_p: 1,
      truncation: 'disabled',
      usage: null,
      user: null,
    },
  })
export type ResponseResource = z.input<typeof ResponseSchema>

export const DeletedResponseSchema = z
  .object({ id: z.string(), object: z.literal('response.deleted'), deleted: z.literal(true) })
  .openapi('DeletedResponse', {
    example: { id: 'resp_01JD2Q8N4T6W8Y0A2C4E6G8J0K', object: 'response.deleted', deleted: true },
  })

export const InputTokensSchema = z
  .object({ object: z.literal('response.input_tokens'), input_tokens: z.int() })
  .openapi('InputTokens', { example: { object: 'response.input_tokens', input_tokens: 812 } })
