import { z } from 'zod'
import { filtersOf, HISTORY_LABELS, type HistoryFilters } from '../domain/history.ts'
import { renderEntries } from '../search/documents/entries.ts'
import { defineTool } from './define-tool.ts'

const MAX_LIMIT = 20
const DEFAULT_LIMIT = 5
const INCOMPLETE = 'The latest entries are not indexed yet. Search again in a moment to include them.'

/** A date, or a time: with its zone, or in UTC. */
export const moment = z.union([z.iso.datetime({ offset: true, local: true }), z.iso.date()], {
  error: 'a date such as 2026-11-22 or a time such as 2026-11-22T09:30:00Z',
})

const input = z.strictObject({
  query: z.string().describe('What to look for: words, names, identifiers, parts of paths. Nothing in it is syntax.'),
  role: z
    .enum(['user', 'assistant', 'tool_call', 'tool_result'])
    .optional()
    .describe('Only what users wrote, what the assistant wrote, the calls, or the results.'),
  tool: z.string().optional().describe('Only calls and results of the tool with this name.'),
  since: moment.optional().describe('Only entries from this date or time on (UTC where no zone is given).'),
  until: moment.optional().describe('Only entries up to this date (the whole day) or time.'),
  limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT).describe('How many entries at most.'),
})

/** Lets an agent search earlier messages and tool calls, in other runs and sessions within its scope. */
export const searchHistory = defineTool({
  name: 'search_history',
  description:
    'Searches everything that was said and done before this turn: messages, tool calls and tool results. Each entry comes ' +
    'with the entries just before and after it. Pass a pointer (output:…) to read_output to read a whole tool result.',
  input,
  idempotent: true,
  async execute({ query, limit, ...written }, context) {
    const filters = filtersOf(written)
    const { entries, incomplete } = await context.searchHistory(query, filters, limit)
    const text = entries.length > 0 ? renderEntries(entries) : nothingFound(query, filters)
    return { text: incomplete === true ? `${text}\n${INCOMPLETE}` : text }
  },
})

function nothingFound(query: string, { role, tool, since, until }: HistoryFilters): string {
  const within = [
    ...(role === undefined ? [] : [`role ${HISTORY_LABELS[role]}`]),
    ...(tool === undefined ? [] : [`tool ${tool}`]),
    ...(since === undefined ? [] : [`since ${new Date(since).toISOString()}`]),
    ...(until === undefined ? [] : [`until ${new Date(until).toISOString()}`]),
  ]
  const filtered = within.length === 0 ? '' : ` (${within.join(', ')})`
  return `Nothing in the earlier history matches ${JSON.stringify(query)}${filtered}.`
}
