import { z } from '@hono/zod-openapi'
import type { Json } from '../../../domain/json.ts'
import { InputSchema, MessageSchema } from '../messages/schema.ts'
import { parentNames, page, pageLimit, sessionId, supersededBy, time, ulid, UsageSchema } from '../fields.ts'

export const runStatus = z.enum(['queued', 'running', 'paused', 'completed', 'failed', 'cancelled'])

const waitingCall = z.object({
  message_id: ulid.openapi({
    description: 'Message id of the call. Send it with the `tool_call_id`: models reuse ids.',
  }),
  tool_call_id: z.string(),
  tool_name: z.string(),
  arguments: z.string().openapi({ description: 'The raw string as the model sent it.' }),
  needs: z.enum(['result', 'approval']),
  agent: z
    .string()
    .openapi({ description: 'Agent that made the call: the agent of the run, or a member of its team.' }),
  ...parentNames,
})

/** Any JSON value. */
const outputValue = z.custom<Json>().openapi({
  type: ['object', 'array', 'string', 'number', 'boolean', 'null'],
  items: {},
  description:
    'Only if the run has a response format: the value of its answer. Null until the run has completed with an answer that fits the format.',
})

export const RunSchema = z
  .object({
    object: z.literal('run'),
    id: ulid,
    session_id: sessionId,
    agent: z.string(),
    status: runStatus,
    created_at: time,
    started_at: time.optional(),
    ended_at: time.optional(),
    superseded_by: supersededBy,
    rounds: z.number().int(),
    usage: UsageSchema.extend({ by_agent: z.record(z.string(), UsageSchema) }),
    stop_reason: z.string().optional().openapi({
      example: 'answer',
      description:
        '`answer`, `output_limit` (the provider truncated the last completion), `max_rounds`, `budget`, `imported`, `error`, `cancelled` or `superseded`.',
    }),
    source: z.string().optional().openapi({ description: 'Source of an imported turn.' }),
    error: z.object({ code: z.string(), message: z.string(), retryable: z.boolean() }).nullable(),
    output: outputValue.optional(),
    waiting: z.array(waitingCall).openapi({ description: 'Calls that wait for a tool result or a decision.' }),
    input: InputSchema.optional().openapi({
      description:
        'Input of a run that is queued, or was cancelled before it started. Once it has started, its input is a message.',
    }),
    messages: z
      .array(MessageSchema)
      .optional()
      .openapi({ description: 'Only if the request waited: the new messages of the run, in order, up to 4 MB.' }),
    messages_next: ulid.optional().openapi({
      description: 'There are more new messages: `GET …/messages?run=…&order=asc&after=…` continues after this one.',
    }),
  })
  .openapi('Run', {
    example: {
      object: 'run',
      id: '01JD2Q8N4T6W8Y0A2C4E6G8J0K',
      session_id: 'support-7',
      agent: 'default',
      status: 'completed',
      created_at: '2026-11-21T09:30:00.000Z',
      started_at: '2026-11-21T09:30:00.001Z',
      ended_at: '2026-11-21T09:30:02.250Z',
      rounds: 2,
      usage: {
        input_tokens: 512,
        cached_input_tokens: null,
        cache_write_tokens: null,
        output_tokens: 64,
        reasoning_tokens: null,
        total_tokens: 576,
        by_agent: {},
      },
      stop_reason: 'answer',
      error: null,
      waiting: [],
    },
  })

export const RunPageSchema = page('RunPage', RunSchema)

export const runQuery = z.strictObject({
  status: runStatus.optional(),
  limit: pageLimit(100, 20),
  after: ulid.optional().openapi({ description: 'Runs older than this one.' }),
})
