import { z } from '@hono/zod-openapi'
import type { OpenAiMessage } from '../../../log/openai-format.ts'
import { isObject, jsonObject, page, pageLimit, sessionId, time, ulid, ULID_PATTERN, UsageSchema } from './fields.ts'

const partSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('reasoning'), text: z.string() }),
  z
    .object({ type: z.literal('tool_call'), id: z.string() })
    .openapi({ description: "A call's place between the other parts." }),
  z.object({
    type: z.enum(['image', 'file']),
    id: z.string(),
    media_type: z.string(),
    filename: z.string().optional(),
    bytes: z.number().int(),
    url: z.string(),
  }),
  z.object({ type: z.literal('error'), code: z.string(), text: z.string() }),
])

/** States of a tool call as users see them. */
export const toolStatus = z.enum(['running', 'waiting', 'completed', 'error', 'interrupted', 'cancelled', 'denied'])

const OutputSchema = z
  .object({
    pointer: z.string(),
    bytes: z.number().int(),
    lines: z.number().int(),
    sha256: z.string(),
    media_type: z.string(),
    offloaded: z.boolean().openapi({ description: 'The message keeps a preview; `url` has the whole.' }),
    url: z.string(),
  })
  .openapi('Output')

export const MessageSchema = z
  .object({
    object: z.literal('message'),
    id: ulid,
    session_id: sessionId,
    run_id: ulid,
    agent: z.string(),
    parent_tool_call_id: z.string().optional(),
    role: z.enum(['user', 'assistant', 'tool']),
    round: z.number().int(),
    created_at: time,
    user: z.string().optional(),
    metadata: jsonObject.optional(),
    parts: z.array(partSchema),
    tool_calls: z
      .array(z.object({ id: z.string(), name: z.string(), arguments: z.string() }))
      .optional()
      .openapi({ description: 'Of assistant messages; `arguments` is the raw string as the model sent it.' }),
    model: z.string().optional(),
    finish_reason: z.string().optional(),
    usage: UsageSchema.optional(),
    tool_call_id: z.string().optional(),
    tool_name: z.string().optional(),
    assistant_message_id: ulid.optional(),
    call: z.string().optional().openapi({ example: 'shell(cmd="git status")' }),
    sequence: z.number().int().optional(),
    status: toolStatus.optional(),
    completed_at: time.optional(),
    duration_ms: z.number().optional(),
    output: OutputSchema.optional(),
  })
  .openapi('Message', {
    description: 'One entry of the log. The fields from `tool_call_id` on are those of tool messages.',
    example: {
      object: 'message',
      id: '01JD2Q8N4T6W8Y0A2C4E6G8J0M',
      session_id: 'support-7',
      run_id: '01JD2Q8N4T6W8Y0A2C4E6G8J0K',
      agent: 'default',
      role: 'user',
      round: 0,
      created_at: '2026-11-21T09:30:00.000Z',
      parts: [{ type: 'text', text: 'What time is it?' }],
    },
  })

const chatMessage = z.custom<OpenAiMessage>(isObject).openapi('ChatMessage', {
  type: 'object',
  properties: { role: { type: 'string', enum: ['system', 'user', 'assistant', 'tool'] } },
  required: ['role'],
  description: 'A message of the Chat Completions API, as an OpenAI-compatible server is sent it.',
  example: { role: 'user', content: 'What time is it?' },
})

export const MessagePageSchema = page('MessagePage', MessageSchema)
export const ChatMessagePageSchema = page('ChatMessagePage', chatMessage)

const CURSOR = new RegExp(`^(?:older_)?${ULID_PATTERN.source.slice(1, -1)}(?:_[0-9]{1,6})?$`)
const roles = /^(?:user|assistant|tool)(?:,(?:user|assistant|tool)){0,2}$/

export const messageQuery = z.strictObject({
  after: z
    .string()
    .regex(CURSOR, 'must be a message id or the `next` of a page')
    .optional()
    .openapi({ description: 'Messages after this id, or the page that follows the one whose `next` this is.' }),
  before: ulid.optional().openapi({ description: 'Messages before this id.' }),
  order: z.enum(['asc', 'desc']).default('asc'),
  limit: pageLimit(1000, 100),
  roles: z
    .string()
    .regex(roles, 'must be a list of user, assistant, tool')
    .optional()
    .openapi({ example: 'user,assistant' }),
  run: ulid.optional(),
  agent: z.string().min(1).max(128).optional(),
  format: z.enum(['native', 'openai']).default('native').openapi({
    description:
      '`openai`: the conversation as Chat Completions messages, in order and whole: of the other parameters only `limit` and `after` apply.',
  }),
})
