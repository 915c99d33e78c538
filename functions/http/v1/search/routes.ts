import { createRoute, type z } from '@hono/zod-openapi'
import { definedFields } from '../../../domain/defined-fields.ts'
import { filtersOf, timeAt, type HistoryQuery } from '../../../domain/history.ts'
import type { App, RouteDependencies } from '../../dependencies.ts'
import { bytesResponse } from '../../streaming/json-response.ts'
import { LIST_PROBLEMS } from '../problem-responses.ts'
import { metadataFilters } from '../metadata-filter.ts'
import { SearchPageSchema, searchQuery } from './schema.ts'
import { searchHitResource, understoodResource } from './resource.ts'
import { createBuilds } from '../../streaming/document-queue.ts'
import { jsonText } from '../../../log/json/well-formed.ts'

type SearchPage = z.input<typeof SearchPageSchema>

const searchHistory = createRoute({
  method: 'get',
  path: '/v1/search',
  operationId: 'searchHistory',
  summary: 'Search everything that was said and done',
  description:
    'A page may be short, or empty, although more hits follow: `next` says so. That happens where more sessions have the wanted metadata than a search can name.',
  tags: ['Search'],
  request: { query: searchQuery },
  responses: {
    200: { description: 'A page of hits.', content: { 'application/json': { schema: SearchPageSchema } } },
    ...LIST_PROBLEMS,
  },
})

/** Concurrent searches per process. */
const AT_ONCE = 4

/** Searches the history, within the caller's scope. */
export function searchRoutes(app: App, { service, shared, clock }: RouteDependencies): void {
  // The number of concurrent searches is limited. Each search holds the texts around its hits, which may have
  // megabytes.
  const builds = createBuilds(AT_ONCE)

  app.openapi(searchHistory, async (c) => {
    const { tenant, owner } = c.get('caller')
    const query = c.req.valid('query')
    // Concurrent equal searches share the same bytes. A separate page for each would use too much memory.
    const page = await builds.build(tenant, jsonText([owner ?? null, query]), async () => {
      const asked = { scope: { tenant, ...definedFields({ owner }) }, ...askedBy(query, clock.now()) }
      const { entries, next, incomplete, understood } = await service.search(asked)
      const found = {
        object: 'list',
        data: entries.map(searchHitResource),
        next: next ?? null,
        has_more: next !== undefined,
        understood: understoodResource(understood),
      } satisfies SearchPage
      return Buffer.from(jsonText({ ...found, ...definedFields({ incomplete }) }))
    })
    return bytesResponse<SearchPage>(shared.of(tenant), page)
  })
}

function askedBy(query: z.output<typeof searchQuery>, serverTime: number): Omit<HistoryQuery, 'scope'> {
  const { q, limit, sort, role, tool, status, session, owner, agent, feedback, since, until, after, group } = query
  const metadata = metadataFilters(query)
  const superseded = query.superseded === undefined ? undefined : query.superseded === 'true'
  const written = { role, tool, status, session, owner, agent, feedback, since, until, superseded }
  const filters = filtersOf({ ...written, ...(metadata.length === 0 ? {} : { metadata }) })
  const now = query.now === undefined ? serverTime : timeAt(query.now)
  const asked = query.dates === 'words' ? undefined : { now, timeZone: query.time_zone }
  return { text: q, filters, limit, sort, ...definedFields({ after, group, asked }) }
}
