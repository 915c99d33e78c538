import { z } from '@hono/zod-openapi'
import { filePart, spokenPart, textPart } from '../../../log/formats/openai-parts.ts'
import { chatSettingsFields } from '../settings-fields.ts'
import { clientTool, toolList } from '../../v1/messages/input-schema.ts'
import { agentName, objectOrNull, person, texts as metadata } from '../../v1/fields.ts'

const contentPart = z.discriminatedUnion(
  'type',
  [textPart, z.object({ type: z.literal('image_url'), image_url: z.object({ url: z.string() }) }), filePart],
  'must be of type text, image_url or file',
)
const TEXTS = 'must be a text or a list of parts'
const texts = z.union([z.string(), z.array(textPart).min(1)], TEXTS)
const message = z.discriminatedUnion(
  'role',
  [
    z.object({ role: z.enum(['system', 'developer']), content: texts }),
    z.object({ role: z.literal('user'), content: z.union([z.string(), z.array(contentPart).min(1).max(64)], TEXTS) }),
    z.object({
      role: z.literal('assistant'),
      content: z.union([z.string(), z.array(spokenPart)]).nullish(),
      refusal: z.string().nullish(),
      tool_calls: z
        .array(
          z.object({
            id: z.string(),
            type: z.literal('function').default('function'),
            function: z.object({ name: z.string(), arguments: z.string() }),
          }),
        )
        .nullish(),
    }),
    z.object({ role: z.literal('tool'), tool_call_id: z.string().min(1).max(2_048), content: texts }),
  ],
  'must have the role system, developer, user, assistant or tool',
)
export type ChatMessage = z.output<typeof message>

const functionTool = z.object({
  type: z.literal('function', 'must be function'),
  function: z.object({
    name: clientTool.shape.name,
    description: clientTool.shape.description.nullish(),
    parameters: objectOrNull(clientTool.shape.parameters),
    strict: z.boolean().nullish(),
  }),
})

const emptyList = (message: string) => z.array(z.unknown(), message).max(0, message).nullish()

const TEXT_ONLY = 'can only be ["text"]'
/** Fields of unsupported features. Only values that do not request such a feature are accepted. */
const refused = {
  n: z.union([z.literal(1, 'can only be 1'), z.null()]).optional(),
  logprobs: z.union([z.literal(false, 'is not supported'), z.null()]).optional(),
  top_logprobs: z.union([z.literal(0, 'is not supported'), z.null()]).optional(),
  audio: z.null('is not supported').optional(),
  functions: emptyList('is not supported: use tools'),
  function_call: z.null('is not supported: use tools').optional(),
  prediction: z.null('is not supported').optional(),
  web_search_options: z.null('is not supported').optional(),
  modalities: z.array(z.literal('text'), TEXT_ONLY).length(1, TEXT_ONLY).nullish(),
}

export const chatCompletionRequest = z
  .object({
    model: agentName,
    messages: z.array(message).min(1),
    stream: z.boolean().nullish(),
    stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
    tools: toolList(functionTool).nullish(),
    user: person.nullish(),
    metadata: objectOrNull(metadata),
    ...chatSettingsFields,
    ...refused,
  })
  .openapi('ChatCompletionRequest', {
    description:
      "The request of OpenAI's API. `model` names an agent. The agent's own settings apply. `temperature` and similar fields are ignored, unless its policy `request_options` accepts them.",
    example: { model: 'default', messages: [{ role: 'user', content: 'What time is it?' }] },
  })
export type ChatCompletionRequest = z.output<typeof chatCompletionRequest>

const usage = z.object({
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  total_tokens: z.int(),
  prompt_tokens_details: z.object({ cached_tokens: z.int() }),
  completion_tokens_details: z.object({ reasoning_tokens: z.int() }),
})
const finishReason = z.enum(['stop', 'length', 'tool_calls'])

export const ChatCompletionSchema = z
  .object({
    id: z.string(),
    object: z.literal('chat.completion'),
    created: z.int(),
    model: z.string(),
    choices: z.array(
      z.object({
        index: z.int(),
        message: z.object({
          role: z.literal('assistant'),
          content: z.string().nullable(),
          refusal: z.null(),
          tool_calls: z
            .array(
              z.object({
                id: z.string(),
                type: z.literal('function'),
                function: z.object({ name: z.string(), arguments: z.string() }),
              }),
            )
            .optional(),
        }),
        finish_reason: finishReason,
        logprobs: z.null(),
      }),
    ),
    usage: usage.optional(),
  })
  .openapi('ChatCompletion', {
    example: {
      id: 'chatcmpl-01JD2Q8N4T6W8Y0A2C4E6G8J0K',
      object: 'chat.completion',
      created: 1_795_253_400,
      model: 'default',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'It is half past nine.', refusal: null },
          finish_reason: 'stop',
          logprobs: null,
        },
      ],
    },
  })
export type ChatCompletion = z.input<typeof ChatCompletionSchema>
export type ChatUsage = z.input<typeof usage>
export type FinishReason = z.input<typeof finishReason>

const modelFields = {
  id: z.string(),
  object: z.literal('model'),
  created: z.int(),
  owned_by: z.literal('tooltrail'),
}
export const ModelSchema = z.object(modelFields).openapi('Model', {
  example: { id: 'default', object: 'model', created: 1795600000, owned_by: 'tooltrail' },
})
export const ModelListSchema = z
  .object({ object: z.literal('list'), data: z.array(ModelSchema) })
  .openapi('ModelList', {
    example: { object: 'list', data: [{ id: 'default', object: 'model', created: 1795600000, owned_by: 'tooltrail' }] },
  })

export const OpenAiErrorSchema = z
  .object({
    error: z.object({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable(),
      code: z.string().nullable(),
    }),
  })
  .openapi('OpenAiError', {
    example: {
      error: {
        message: 'there is no agent gpt-5',
        type: 'invalid_request_error',
        param: 'model',
        code: 'model_not_found',
      },
    },
  })
