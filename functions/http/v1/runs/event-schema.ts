import { z } from '@hono/zod-openapi'
import { MessageSchema } from '../messages/schema.ts'
import { RunSchema } from './schema.ts'
import { parentNames, sessionId, ulid } from '../fields.ts'

const base = {
  session_id: sessionId,
  run_id: ulid,
  agent: z.string().optional(),
  ...parentNames,
}
const round = z.number().int()
const attempt = z.number().int().optional().openapi({
  description:
    'The number of the attempt whose deltas follow. Absent for the first attempt; later ones have greater numbers.',
})

/** The `data` of a server-sent event. */
export const RunEventSchema = z
  .discriminatedUnion('type', [
    z.object({
      type: z.enum(['run.queued', 'run.resumed', 'run.paused', 'run.completed', 'run.failed', 'run.cancelled']),
      ...base,
      run: RunSchema,
    }),
    z.object({ type: z.literal('run.started'), ...base, run: RunSchema, message: MessageSchema.optional() }),
    z.object({ type: z.literal('round.started'), ...base, round, attempt }),
    z.object({ type: z.literal('round.restarted'), ...base, round, attempt, reason: z.string() }),
    z.object({
      type: z.enum(['text.delta', 'reasoning.delta']),
      ...base,
      round,
      part: z.number().int(),
      text: z.string(),
    }),
    z.object({
      type: z.literal('tool_call.delta'),
      ...base,
      round,
      sequence: z.number().int(),
      tool_call_id: z.string(),
      tool_name: z.string(),
      arguments: z.string(),
    }),
    z.object({
      type: z.literal('tool_call.progress'),
      ...base,
      message_id: ulid,
      tool_call_id: z.string(),
      tool_name: z.string(),
      progress: z.number(),
      total: z.number().optional(),
      text: z.string().optional(),
    }),
    z.object({
      type: z.enum(['message.completed', 'message.steered', 'tool_call.started', 'tool_call.completed']),
      ...base,
      message: MessageSchema,
    }),
    z.object({
      type: z.literal('context.nearly_full'),
      ...base,
      messages: z.number().int(),
      threshold: z.number().int(),
    }),
    z.object({ type: z.literal('context.consolidated'), ...base, through: ulid, messages: z.number().int() }),
    z.object({ type: z.literal('warning'), ...base, code: z.string(), detail: z.string() }),
  ])
  .openapi('RunEvent', { description: 'The `data` of each server-sent event, on one line.' })

/** One server-sent event with the fields of an `EventSource`. */
export const ServerSentEventSchema = z
  .object({
    id: z.string().optional().openapi({
      description:
        'Value of `Last-Event-ID` for resuming after this event. Absent on events that report no stored data.',
    }),
    event: z.string().openapi({ description: 'The `type` of its data.', example: 'run.completed' }),
    data: z.string().openapi({ description: 'A `RunEvent` as JSON on one line.' }),
  })
  .openapi('ServerSentEvent')
