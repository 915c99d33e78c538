import { z } from '@hono/zod-openapi'
import {
  agentName,
  cursor,
  metadata,
  moment,
  page,
  pageLimit,
  person,
  sessionId,
  time,
  ulid,
  UsageSchema,
} from '../fields.ts'
import { SESSION_SORTS } from '../../../domain/session-filter.ts'
import { wordsOf } from '../../../search/session-match.ts'
import { withMetadata } from '../metadata-filter.ts'
import { SummarySchema } from '../context/schema.ts'
import { runStatus } from '../runs/schema.ts'

const title = z.string().max(500)
const TITLE_SOURCES = ['given', 'agent', 'model', 'input'] as const
const TITLE_SOURCE =
  '`given`: set by hand, and never replaced automatically. `agent`: set by the program that it was imported from. `model`: made under the policy `titles`. `input`: the first line of the first input.'
const instructions = z.string().max(100_000)
const EXAMPLE_SESSION = {
  object: 'session' as const,
  id: 'support-7',
  agent: 'default',
  owner: 'user-7',
  title: 'Refund for order 42',
  title_source: 'input' as const,
  metadata: {},
  created_at: '2026-11-21T09:30:00.000Z',
  updated_at: '2026-11-21T09:30:00.000Z',
  first_message_at: '2026-11-21T09:30:00.000Z',
  last_message_at: '2026-11-21T09:30:04.000Z',
  message_count: 2,
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
    title_source: z.enum(TITLE_SOURCES).nullable().openapi({ description: TITLE_SOURCE }),
    instructions: z.string().optional().openapi({ description: "Replaces the agent's instructions for this session." }),
    metadata,
    created_at: time,
    updated_at: time,
    first_message_at: time.nullable().openapi({ description: 'Time of the earliest message; null without messages.' }),
    last_message_at: time.nullable().openapi({ description: 'Time of the latest message; null without messages.' }),
    message_count: z.int().openapi({ description: 'Inputs, and assistant messages of the leader.' }),
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
    id: sessionId.optional().openapi({ description: 'Your own id. Default: a new id is created.' }),
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
    description:
      'An absent field stays unchanged; null removes it. `metadata` is replaced as a whole. If the title is removed, the session gets the title of its first input.',
    example: { title: 'Refund for order 42' },
  })

export const sessionQuery = withMetadata({
  owner: person.optional(),
  agent: agentName.optional(),
  run_status: runStatus.optional(),
  sort: z.enum(SESSION_SORTS).default('last_message_at').openapi({
    description: 'The time to sort by. Sessions without messages come last under `last_message_at`.',
  }),
  order: z.enum(['desc', 'asc']).default('desc'),
  since: moment.optional().openapi({ description: 'Sessions whose sorted time is this date or time, or later.' }),
  until: moment.optional().openapi({ description: 'Sessions up to this time, or up to the end of this date.' }),
  q: z
    .string()
    .max(1_000)
    .refine((text) => wordsOf(text).length > 0, 'must hold a letter or digit')
    .optional()
    .openapi({
      description: 'All words must occur in the title or the first input; the beginning of a word is enough.',
    }),
  limit: pageLimit(100, 20),
  after: cursor.optional(),
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
    description: 'Parts of a session that are deleted so far.',
    example: {
      object: 'deletion',
      id: 'support-7',
      session_id: 'support-7',
      status: 'completed',
      deleted: { messages: 12, runs: 3, outputs: 1, documents: 14 },
    },
  })
