import { z } from '@hono/zod-openapi'
import { agentName, metadata, page, pageLimit, person, sessionId, time, ulid, UsageSchema } from '../fields.ts'
import { SummarySchema } from '../context/schema.ts'
import { runStatus } from '../runs/schema.ts'

const title = z.string().max(500)
const instructions = z.string().max(100_000)
const EXAMPLE_SESSION = {
  object: 'session' as const,
  id: 'support-7',
  agent: 'default',
  owner: 'user-7',
  title: null,
  metadata: {},
  created_at: '2026-11-21T09:30:00.000Z',
  updated_at: '2026-11-21T09:30:00.000Z',
  run: null,
  usage: {
    input_tokens: null,
    cached_input_tokens: null,
    cache_write_tokens: null,
    output_tokens: null,
    reasoning_tokens: null,
    total_tokens: null,
    runs: 0,
    rounds: 0,
    by_agent: {},
  },
}

export const SessionSchema = z
  .object({
    object: z.literal('session'),
    id: sessionId,
    agent: z.string(),
    owner: z.string().nullable(),
    user: z.string().optional().openapi({ description: 'The `user` of inputs that name none.' }),
    title: z.string().nullable(),
    instructions: z.string().optional().openapi({ description: "Replaces the agent's own for this session." }),
    metadata,
    created_at: time,
    updated_at: time,
    run: z.object({ id: ulid, status: runStatus }).nullable().openapi({ description: 'The latest run.' }),
    usage: UsageSchema.omit({ provider: true }).extend({
      runs: z.number().int(),
      rounds: z.number().int(),
      by_agent: z.record(z.string(), UsageSchema),
    }),
    summary: SummarySchema.optional(),
    forked_from: z.object({ session_id: sessionId, message_id: ulid }).optional(),
  })
  .openapi('Session', { example: EXAMPLE_SESSION })

export const SessionPageSchema = page('SessionPage', SessionSchema)

export const newSession = z
  .strictObject({
    id: sessionId.optional().openapi({ description: 'Your own id; left out, one is made.' }),
    agent: agentName.optional(),
    owner: person.optional(),
    user: person.optional().openapi({ description: 'The `user` of inputs that name none.' }),
    title: title.optional(),
    instructions: instructions.optional(),
    metadata: metadata.optional(),
  })
  .openapi('NewSession', { example: { id: 'support-7', owner: 'user-7' } })

export const sessionChange = z
  .strictObject({
    user: person.nullable().optional(),
    title: title.nullable().optional(),
    metadata: metadata.optional(),
    agent: agentName.optional(),
    instructions: instructions.nullable().optional(),
  })
  .openapi('SessionChange', {
    description: 'A field left out stays; null removes it; metadata is replaced whole.',
    example: { title: 'Refund for order 42' },
  })

export const sessionQuery = z.strictObject({
  owner: person.optional(),
  agent: agentName.optional(),
  run_status: runStatus.optional(),
  limit: pageLimit(100, 20),
  after: z.string().min(1).max(512).optional(),
})

export const DeletionSchema = z
  .object({
    object: z.literal('deletion'),
    id: sessionId,
    session_id: sessionId,
    status: z.enum(['running', 'completed']),
    deleted: z.object({
      messages: z.number().int(),
      runs: z.number().int(),
      outputs: z.number().int(),
      documents: z.number().int(),
    }),
  })
  .openapi('Deletion', {
    description: 'What has been deleted of a session so far.',
    example: {
      object: 'deletion',
      id: 'support-7',
      session_id: 'support-7',
      status: 'completed',
      deleted: { messages: 12, runs: 3, outputs: 1, documents: 14 },
    },
  })
