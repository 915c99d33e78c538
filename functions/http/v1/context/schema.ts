import { z } from '@hono/zod-openapi'
import { time, ulid, UsageSchema } from '../fields.ts'
import { ChatMessageSchema } from '../messages/schema.ts'

const EXAMPLE_SUMMARY = {
  object: 'summary' as const,
  text: 'Ada prefers short answers. The deploy of 21 November failed on a full connection pool (output:01JD2Q8N4T6W8Y0A2C4E6G8J0K).',
  through: '01JD2Q8N4T6W8Y0A2C4E6G8J0K',
  messages: 81,
  created_at: '2026-11-21T09:30:00.000Z',
  usage: {
    input_tokens: 5120,
    cached_input_tokens: null,
    cache_write_tokens: null,
    output_tokens: 240,
    reasoning_tokens: null,
    total_tokens: 5360,
  },
  model: 'anthropic/claude-sonnet-4-6',
}

export const SummarySchema = z
  .object({
    object: z.literal('summary'),
    text: z.string(),
    through: ulid.openapi({ description: 'The last message that it replaces.' }),
    messages: z.number().int().openapi({ description: 'Inputs and completions that it replaces.' }),
    created_at: time,
    usage: UsageSchema,
    model: z.string(),
  })
  .openapi('Summary', {
    description: 'Replaces the older conversation in requests. The messages stay in the log.',
    example: EXAMPLE_SUMMARY,
  })

export const ContextSchema = z
  .object({
    object: z.literal('context'),
    agent: z.string(),
    model: z.string(),
    instructions: z.string().nullable(),
    messages: z.array(ChatMessageSchema),
    tools: z
      .array(z.string())
      .openapi({ description: 'Names of the declared tools, in the form that the provider receives.' }),
    mapped_tools: z
      .array(z.object({ name: z.string(), original_name: z.string() }))
      .optional()
      .openapi({ description: 'The tools whose own names the provider would refuse. Absent if there are none.' }),
    estimated_tokens: z.number().int(),
    context_tokens: z.number().int(),
    summary: z.union([SummarySchema, z.null()]),
    omitted: z
      .object({ messages: z.number().int() })
      .openapi({ description: 'Rounds omitted from the request because they no longer fit; the log keeps them.' }),
  })
  .openapi('Context', {
    description: 'The contents of the next request to the model.',
    example: {
      object: 'context',
      agent: 'default',
      model: 'anthropic/claude-sonnet-4-6',
      instructions: 'You are a helpful assistant with tools.',
      messages: [
        { role: 'user', content: `<conversation_summary>\n${EXAMPLE_SUMMARY.text}\n</conversation_summary>` },
        { role: 'user', content: 'And today?' },
        { role: 'assistant', content: 'It went through.' },
      ],
      tools: ['search_history', 'read_output'],
      estimated_tokens: 812,
      context_tokens: 1000000,
      summary: EXAMPLE_SUMMARY,
      omitted: { messages: 0 },
    },
  })

export const contextQuery = z.strictObject({
  run: ulid.optional().openapi({ param: { name: 'run', in: 'query' }, description: 'Only if this run is active.' }),
})
