import { z } from '@hono/zod-openapi'
import { agentName, cursor, moment, page, pageLimit, person, sessionId, supersededBy, time, ulid } from '../fields.ts'
import { MATCH_PLACES, MAX_MORE } from '../../../domain/history.ts'
import { isTimeZone } from '../../../search/dates/calendar.ts'
import { withMetadata } from '../metadata-filter.ts'
import { toolStatus } from '../messages/schema.ts'

const historyRole = z.enum(['user', 'assistant', 'tool_call', 'tool_result'])
const label = z.enum(['USER', 'ASSISTANT', 'TOOL CALL', 'TOOL RESULT'])
const neighbour = z.object({ label, text: z.string() })

export const SearchHitSchema = z
  .object({
    object: z.literal('search_hit'),
    session_id: sessionId,
    session_title: z.string().nullable(),
    folder: z
      .string()
      .optional()
      .openapi({ description: '`metadata.folder` of the session: where its work was done.' }),
    message_id: ulid,
    run_id: ulid,
    superseded_by: supersededBy,
    role: historyRole,
    label,
    tool_name: z.string().optional(),
    tool_call_id: z.string().optional(),
    status: toolStatus.optional(),
    origin: z.literal('client').optional(),
    pointer: z.string().optional(),
    agent: z.string(),
    owner: z.string().optional(),
    created_at: time,
    score: z.number(),
    snippet: z.string().openapi({ description: 'At most 300 characters; matches are between « and ».' }),
    matched: z.array(z.object({ term: z.string(), where: z.array(z.enum(MATCH_PLACES)) })).openapi({
      description: 'The terms of the query that the hit matches: in the entry, beside it, or in the name of its tool.',
    }),
    more: z
      .int()
      .min(0)
      .max(MAX_MORE)
      .optional()
      .openapi({
        description: `In groups: further hits in this session; ${MAX_MORE} means that or more.`,
      }),
    before: neighbour.nullable(),
    after: neighbour.nullable(),
  })
  .openapi('SearchHit', {
    example: {
      object: 'search_hit',
      session_id: 'support-7',
      session_title: 'Refund for order 42',
      message_id: '01JD2Q8N4T6W8Y0A2C4E6G8J0P',
      run_id: '01JD2Q8N4T6W8Y0A2C4E6G8J0K',
      role: 'tool_call',
      label: 'TOOL CALL',
      tool_name: 'shell',
      tool_call_id: 'call_1',
      status: 'completed',
      pointer: 'output:01JD2Q8N4T6W8Y0A2C4E6G8J0P',
      agent: 'default',
      owner: 'user-7',
      created_at: '2026-11-21T09:30:01.000Z',
      score: 12.5,
      snippet: 'shell(cmd="«git» «status»")',
      matched: [
        { term: 'git', where: ['entry'] },
        { term: 'status', where: ['entry', 'neighbour'] },
      ],
      before: { label: 'USER', text: 'Is the tree clean?' },
      after: { label: 'TOOL RESULT', text: 'On branch main' },
    },
  })

export const SearchPageSchema = page('SearchPage', SearchHitSchema, {
  understood: z
    .object({
      since: time.optional().openapi({ description: 'Beginning of the time that the query names.' }),
      until: time.optional().openapi({ description: 'End of the time that the query names.' }),
      terms: z.array(z.string()).openapi({ description: 'The searched terms, without dates and filler words.' }),
    })
    .openapi({ description: 'How the query was read. Entries of the time that it names rank higher.' }),
  incomplete: z.literal(true).optional().openapi({
    description:
      'Whether hits may be missing because recently stored entries could not be indexed in time. If so, search again.',
  }),
})

export const searchQuery = withMetadata({
  q: z.string().max(1_000).openapi({ description: 'Any text; nothing in it is syntax.', example: 'git status' }),
  role: historyRole.optional(),
  tool: z.string().min(1).max(128).optional(),
  status: toolStatus.optional(),
  session: sessionId.optional(),
  owner: person.optional(),
  agent: agentName.optional(),
  feedback: z.enum(['positive', 'negative']).optional().openapi({
    description: 'Only messages with this rating.',
  }),
  superseded: z.enum(['true', 'false']).optional().openapi({
    description: '`false`: only what no other run has replaced. `true`: only what a run has replaced.',
  }),
  since: moment.optional().openapi({ description: 'Entries from this date or time on.' }),
  until: moment.optional().openapi({ description: 'Entries up to this time, or up to the end of this date.' }),
  dates: z.enum(['read', 'words']).default('read').openapi({
    description:
      '`read`: dates in `q` name a time, such as `26 November`, `2026-11-26` and `last week`. `words`: they are words like others.',
  }),
  now: moment.optional().openapi({
    description: 'The time of the caller, against which `last week` is read. Default: the time of the server.',
  }),
  time_zone: z
    .string()
    .max(64)
    .refine(isTimeZone, 'must be an IANA time zone, such as Europe/Berlin')
    .default('UTC')
    .openapi({ description: 'IANA time zone of the days in `q`.', example: 'Europe/Berlin' }),
  sort: z.enum(['relevance', 'newest', 'oldest']).default('relevance').openapi({
    description: 'Order of the hits: best first, newest first or oldest first.',
  }),
  group: z.enum(['session']).optional().openapi({
    description: 'Returns at most one hit per session, the first in the order of the hits. `more` counts the others.',
  }),
  limit: pageLimit(50, 10),
  after: cursor.optional(),
})
