import { jsonText } from '../log/json/well-formed.ts'
import { z } from 'zod'
import { definedFields } from '../domain/defined-fields.ts'
import { filtersOf } from '../domain/history.ts'
import { SESSION_PATTERN } from '../domain/ids.ts'
import {
  dateOrTime,
  periodNote,
  sessionFields,
  sessionFilter,
  supersededField,
  timeZoneField,
} from '../tools/search-history.ts'
import { renderHits } from './hits-text.ts'
import { continueWith, MAX_CURSOR_CHARS, pageOf, pageSchema } from './memory-tool.ts'
import type { MemoryTool } from './memory-tool.ts'

const input = z.strictObject({
  query: z
    .string()
    .max(1_000)
    .describe(
      'What to look for: words, names, identifiers, parts of paths, dates (26 November, last week). Nothing in it is syntax.',
    ),
  session: z.string().regex(SESSION_PATTERN, 'must be the id of a session').optional().describe('Only this session.'),
  role: z
    .enum(['user', 'assistant', 'tool_call', 'tool_result'])
    .optional()
    .describe('Only what users wrote, what assistants wrote, the calls, or the results.'),
  tool: z.string().min(1).max(128).optional().describe('Only calls and results of the tool with this name.'),
  agent: z.string().min(1).max(128).optional().describe('Only what the agent with this name did.'),
  since: dateOrTime.optional().describe('Only entries from this date or time on (UTC where no zone is given).'),
  until: dateOrTime.optional().describe('Only entries up to this date (the whole day) or time.'),
  superseded: supersededField,
  ...sessionFields,
  time_zone: timeZoneField,
  limit: z.int().min(1).max(50).default(10).describe('How many entries at most.'),
  after: z.string().min(1).max(MAX_CURSOR_CHARS).optional().describe('`next` of the page before.'),
})

const NONE_YET = 'Nothing found so far.'

/** Searches all sessions that the caller may see. */
export const searchHistoryTool: MemoryTool<typeof input> = {
  name: 'search_history',
  title: 'Search the history',
  description:
    'Searches everything that was said and done in earlier sessions: messages, tool calls and tool results. Each hit comes ' +
    'with the entries just before and after it. Pass its pointer (output:…) to read_output, or its session to read_session.',
  input,
  output: pageSchema('search_hit', {
    session_id: z.string(),
    session_title: z.string().nullish(),
    message_id: z.string(),
    run_id: z.string(),
    role: z.string(),
    pointer: z.string().optional().describe('Of a tool result, for read_output.'),
    created_at: z.string(),
    score: z.number(),
    snippet: z.string(),
    matched: z.array(z.object({ term: z.string(), where: z.array(z.string()) })),
  }).extend({
    understood: z.object({ since: z.string().optional(), until: z.string().optional(), terms: z.array(z.string()) }),
    incomplete: z.literal(true).optional(),
  }),
  async recall({ service, shapes, clock }, caller, { query, limit, after, folder, sort, group, ...more }) {
    const { time_zone: timeZone, ...filters } = more
    const { entries, next, incomplete, understood } = await service.search({
      scope: { tenant: caller.tenant, ...definedFields({ owner: caller.owner }) },
      text: query,
      filters: filtersOf({ ...filters, ...sessionFilter({ folder }) }),
      asked: { now: clock.now(), timeZone },
      limit,
      sort,
      ...definedFields({ after, group }),
    })
    const none = next === undefined ? `Nothing in the history matches ${jsonText(query)}.` : NONE_YET
    const found = entries.length > 0 ? renderHits(entries) : none
    const late = incomplete === true ? ['The latest entries are not indexed yet: search again in a moment.'] : []
    return {
      text: [found, ...periodNote(understood), ...continueWith(next), ...late].join('\n'),
      content: {
        ...pageOf(entries.map(shapes.searchHit), next),
        understood: shapes.understood(understood),
        ...definedFields({ incomplete }),
      },
    }
  },
}
