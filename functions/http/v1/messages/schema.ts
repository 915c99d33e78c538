import { z } from '@hono/zod-openapi'
import type { OpenAiMessage } from '../../../log/formats/openai-format.ts'
import { isJsonObject } from '../../../domain/json.ts'
import { ULID_PATTERN } from '../../../domain/ids.ts'
import {
  jsonObject,
  page,
  parentNames,
  pageLimit,
  sessionId,
  supersededBy,
  time,
  ulid,
  UsageSchema,
} from '../fields.ts'

const textPart = z.object({ type: z.literal('text'), text: z.string() })
const mediaPart = z.object({
  type: z.enum(['image', 'file']),
  id: z.string(),
  media_type: z.string(),
  filename: z.string().optional(),
  bytes: z.number().int(),
})

/** An input that is not a message yet. Its images and files have no address yet. */
export const InputSchema = z.object({
  parts: z.array(z.discriminatedUnion('type', [textPart, mediaPart])),
  user: z.string().optional(),
  metadata: jsonObject.optional(),
})

const partSchema = z.discriminatedUnion('type', [
  textPart,
  z.object({ type: z.literal('reasoning'), text: z.string() }),
  z
    .object({ type: z.literal('tool_call'), id: z.string() })
    .openapi({ description: "A call's place between the other parts." }),
  mediaPart.extend({ url: z.string() }),
  z
    .object({ type: z.literal('data'), data: z.unknown() })
    .openapi({ description: 'What a tool returned beside its text, for programs; no model sees it.' }),
  z.object({ type: z.literal('error'), code: z.string(), text: z.string() }),
])

const FeedbackSchema = z.object({ rating: z.enum(['positive', 'negative']), user: z.string(), at: time })

const DecisionSchema = z.object({ approved: z.boolean(), by: z.string().optional(), at: time })

/** The statuses of a tool call that users see. */
export const toolStatus = z.enum(['running', 'waiting', 'completed', 'error', 'interrupted', 'cancelled', 'denied'])

const OutputSchema = z
  .object({
    pointer: z.string(),
    bytes: z.number().int(),
    lines: z.number().int(),
    sha256: z.string(),
    media_type: z.string(),
    offloaded: z
      .boolean()
      .openapi({ description: 'Whether the message only has a preview; `url` returns the whole output.' }),
    url: z.string(),
  })
  .openapi('Output')

const SourceOfMessage = z.object({
  number: z.number().int().optional().openapi({
    description:
      'Number that citations use, as in `[source7]`. Absent in events, and until a completion has followed the result.',
  }),
  title: z.string(),
  url: z.string().optional(),
  cited: z
    .boolean()
    .nullable()
    .openapi({ description: 'Null until its run has completed, and under the policy `keep`.' }),
})

export const MessageSchema = z
  .object({
    object: z.literal('message'),
    id: ulid,
    session_id: sessionId,
    run_id: ulid,
    agent: z.string(),
    ...parentNames,
    role: z.enum(['user', 'assistant', 'tool']),
    round: z.number().int(),
    superseded_by: supersededBy,
    created_at: time,
    recorded_at: time
      .optional()
      .openapi({ description: 'Time of the import. `created_at` is the time in the source.' }),
    user: z.string().optional(),
    metadata: jsonObject.optional(),
    parts: z.array(partSchema),
    tool_calls: z
      .array(z.object({ id: z.string(), name: z.string(), arguments: z.string() }))
      .optional()
      .openapi({ description: 'Calls of an assistant message; `arguments` is the raw string as the model sent it.' }),
    model: z.string().optional(),
    finish_reason: z.string().optional(),
    usage: UsageSchema.optional(),
    feedback: z
      .array(FeedbackSchema)
      .optional()
      .openapi({ description: 'The latest rating of each person, on assistant messages.' }),
    tool_call_id: z.string().optional(),
    tool_name: z.string().optional(),
    assistant_message_id: ulid.optional(),
    call: z.string().optional().openapi({ example: 'shell(cmd="git status")' }),
    arguments: z.string().optional().openapi({ description: "The call's raw arguments as the model sent them." }),
    sequence: z.number().int().optional(),
    status: toolStatus.optional(),
    origin: z.literal('client').optional().openapi({
      description:
        "Set if a client's tool replaced the agent's tool of this name. The result then comes from the client.",
    }),
    namespace: z.string().optional().openapi({
      description: "Namespace of a client's tool in the Responses format; `tool_name` begins with it.",
    }),
    decision: DecisionSchema.optional().openapi({
      description: 'Decision on a call that needed an approval; `by` if the channel knows the person.',
    }),
    completed_at: time.optional(),
    duration_ms: z.number().optional(),
    output: OutputSchema.optional(),
    sources: z.array(SourceOfMessage).optional(),
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

/** A Chat Completions message. */
export const ChatMessageSchema = z.custom<OpenAiMessage>(isJsonObject).openapi('ChatMessage', {
  type: 'object',
  properties: { role: { type: 'string', enum: ['system', 'user', 'assistant', 'tool'] } },
  required: ['role'],
  description: 'A message of the Chat Completions API, in the form that an OpenAI-compatible server receives.',
  example: { role: 'user', content: 'What time is it?' },
})

export const MessagePageSchema = page('MessagePage', MessageSchema, {
  previous: ulid.nullable().optional().openapi({
    description:
      'In pages with the oldest first: value of `before` for older messages; null at the beginning of the log.',
  }),
})
export const ChatMessagePageSchema = page('ChatMessagePage', ChatMessageSchema)

const ID = ULID_PATTERN.source.slice(1, -1)
const CURSOR = new RegExp(`^(?:${ID}(?:_[0-9]{1,6})?|older_${ID}(?:_${ID})?)$`)
const roles = /^(?:user|assistant|tool)(?:,(?:user|assistant|tool)){0,2}$/

export type MessageQuery = z.output<typeof messageQuery>

const messageFields = z.strictObject({
  after: z
    .string()
    .regex(CURSOR, 'must be a message id or the `next` of a page')
    .optional()
    .openapi({ description: 'Messages after this id, or the page that follows the one whose `next` this is.' }),
  before: ulid.optional().openapi({
    description: 'Messages before this id. Without `after` these are the last ones before it, whatever the order.',
  }),
  around: ulid.optional().openapi({
    description:
      'Messages around the one with this id, oldest first: half of `limit` before it, the other half beginning with it. The only other parameters allowed are `limit` and `superseded`.',
  }),
  order: z.enum(['asc', 'desc']).default('asc'),
  limit: pageLimit(1000, 100),
  roles: z
    .string()
    .regex(roles, 'must be a list of user, assistant, tool')
    .optional()
    .openapi({ example: 'user,assistant' }),
  run: ulid.optional(),
  agent: z.string().min(1).max(128).optional(),
  parent_tool_call_id: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .openapi({ description: 'Messages of team members that work for a delegate call with this id.' }),
  superseded: z.enum(['true', 'false']).default('true').openapi({
    description: '`false`: only messages of runs that no other run has replaced. Applies to both formats.',
  }),
  format: z.enum(['native', 'openai']).default('native').openapi({
    description:
      '`openai`: the whole conversation as Chat Completions messages, in order. The only other parameters that apply are `limit`, `after` and `superseded`.',
  }),
})

/** Parameters that conflict with `around`, because they select or order messages differently. */
const NOT_AROUND = ['after', 'before', 'roles', 'run', 'agent', 'parent_tool_call_id'] as const

export const messageQuery = messageFields.superRefine((query, context) => {
  if (query.around === undefined) return
  const isOther = query.order === 'desc' || query.format === 'openai'
  if (isOther || NOT_AROUND.some((name) => query[name] !== undefined))
    context.addIssue({
      code: 'custom',
      path: ['around'],
      message: 'can be combined only with `limit` and `superseded`',
    })
})
