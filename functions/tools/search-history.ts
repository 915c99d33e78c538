import { jsonText } from '../log/json/well-formed.ts'
import { z } from 'zod'
import { definedFields } from '../domain/defined-fields.ts'
import { filtersOf, HISTORY_LABELS, type HistoryFilters, type Understood } from '../domain/history.ts'
import { metadataFilter } from '../domain/session-filter.ts'
import { isTimeZone } from '../search/dates/calendar.ts'
import { renderEntries } from '../search/documents/entries.ts'
import { defineTool } from './define-tool.ts'

const MAX_LIMIT = 20
const DEFAULT_LIMIT = 5
const INCOMPLETE = 'The latest entries are not indexed yet. Search again in a moment to include them.'

const NONE_COMPARED = 'Nothing found so far.'
/**
 * Note for a search that ended early: the search compares only a limited number of entries with the requested folder.
 */
const CUT = 'There may be more: search for rarer words, for a longer path, or between two times.'

/** Note for a search without a result in a session without an owner. */
const LACKS_OWNER =
  'Only this session was searched, because it has no owner. An agent searches other sessions if they have the same owner, ' +
  'or if its "search_scope" is "tenant".'

/** Schema of a date or a time. A time without a zone is in UTC. */
export const dateOrTime = z.union([z.iso.datetime({ offset: true, local: true }), z.iso.date()], {
  error: 'a date such as 2026-11-22 or a time such as 2026-11-22T09:30:00Z',
})

/** Schema of the search arguments that select or group by sessions. */
export const sessionFields = {
  folder: z
    .string()
    .max(1_024)
    .refine((text) => text !== '' && text !== '*', 'must be a path; one that ends in * names all paths that begin so')
    .optional()
    .describe('Only sessions that worked in this folder (absolute path). A path that ends in * is a prefix.'),
  sort: z.enum(['relevance', 'newest', 'oldest']).default('relevance').describe('Best first, or by time.'),
  group: z
    .enum(['session'])
    .optional()
    .describe('`session`: only the first entry of each session, and how many more it has.'),
}

/** Schema of the time zone for the days that a query names. */
export const timeZoneField = z
  .string()
  .max(64)
  .refine(isTimeZone, 'must be an IANA time zone, such as Europe/Berlin')
  .default('UTC')
  .describe('IANA time zone of days such as "yesterday" in the query.')

/** Shows the model which time the search found in the query, so that the model can correct a mistake. */
export const periodNote = ({ since, until }: Understood): string[] =>
  since === undefined && until === undefined
    ? []
    : [`Entries ${timeSpan(since, until)} rank higher, because the query names this time.`]

const timeSpan = (since: number | undefined, until: number | undefined): string =>
  [
    ...(since === undefined ? [] : [`from ${new Date(since).toISOString()}`]),
    ...(until === undefined ? [] : [`until ${new Date(until).toISOString()}`]),
  ].join(' ')

/** Schema of the argument that excludes superseded runs. */
export const supersededField = z
  .boolean()
  .optional()
  .describe(
    'false: without answers that were replaced by another run. true: only these. Default: both, replaced ones last.',
  )

/** Makes a metadata filter from arguments that are named like metadata fields. */
export function sessionFilter(fields: Readonly<Record<string, string | undefined>>): Pick<HistoryFilters, 'metadata'> {
  const named = Object.entries(fields).flatMap(([key, text]) => (text === undefined ? [] : [metadataFilter(key, text)]))
  return named.length === 0 ? {} : { metadata: named }
}

const input = z.strictObject({
  query: z
    .string()
    .describe(
      'What to look for: words, names, identifiers, parts of paths, dates (26 November, last week). Nothing in it is syntax.',
    ),
  role: z
    .enum(['user', 'assistant', 'tool_call', 'tool_result'])
    .optional()
    .describe('Only what users wrote, what the assistant wrote, the calls, or the results.'),
  tool: z.string().min(1).optional().describe('Only calls and results of the tool with this name.'),
  since: dateOrTime.optional().describe('Only entries from this date or time on (UTC where no zone is given).'),
  until: dateOrTime.optional().describe('Only entries up to this date (the whole day) or time.'),
  superseded: supersededField,
  ...sessionFields,
  time_zone: timeZoneField,
  limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT).describe('How many entries at most.'),
})

/** Searches earlier messages and tool calls, in other runs and sessions within the agent's scope. */
export const searchHistory = defineTool({
  name: 'search_history',
  description:
    'Searches everything that was said and done before this turn: messages, tool calls and tool results. Each entry comes ' +
    'with the entries just before and after it. Pass a pointer (output:…) to read_output to read a whole tool result.',
  input,
  idempotent: true,
  async execute({ query, limit, folder, sort, group, time_zone: timeZone, ...written }, context) {
    const filters = filtersOf({ ...written, ...sessionFilter({ folder }) })
    const listing = { sort, asked: { now: context.now(), timeZone }, ...definedFields({ group }) }
    const { entries, next, incomplete, lacksOwner, understood } = await context.searchHistory(
      query,
      filters,
      limit,
      listing,
    )
    const isCut = next !== undefined && entries.length < limit
    const found = entries.length > 0 ? renderEntries(entries) : isCut ? NONE_COMPARED : nothingFound(query, filters)
    const notes = [
      ...periodNote(understood),
      ...(isCut ? [CUT] : []),
      ...(entries.length === 0 && lacksOwner === true ? [LACKS_OWNER] : []),
      ...(incomplete === true ? [INCOMPLETE] : []),
    ]
    return { text: [found, ...notes].join('\n') }
  },
})

function nothingFound(query: string, { role, tool, since, until, metadata = [] }: HistoryFilters): string {
  const within = [
    ...metadata.map(({ key, value, isPrefix }) => `${key} ${value}${isPrefix ? '*' : ''}`),
    ...(role === undefined ? [] : [`role ${HISTORY_LABELS[role]}`]),
    ...(tool === undefined ? [] : [`tool ${tool}`]),
    ...(since === undefined ? [] : [`since ${new Date(since).toISOString()}`]),
    ...(until === undefined ? [] : [`until ${new Date(until).toISOString()}`]),
  ]
  const filtered = within.length === 0 ? '' : ` (${within.join(', ')})`
  return `Nothing in the earlier history matches ${jsonText(query)}${filtered}.`
}
