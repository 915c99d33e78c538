import { createRoute } from '@hono/zod-openapi'
import { findSession } from '../../../access/sessions.ts'
import type { App, RouteDependencies } from '../../dependencies.ts'
import { jsonResponse } from '../../streaming/json-response.ts'
import { LIST_PROBLEMS } from '../problem-responses.ts'
import { sessionParams } from '../fields.ts'
import { SourcePageSchema, sourceQuery } from './schema.ts'

const listSources = createRoute({
  method: 'get',
  path: '/v1/sessions/{session}/sources',
  operationId: 'listSources',
  summary: 'List the sources of tool results, by number',
  tags: ['Context'],
  request: { params: sessionParams, query: sourceQuery },
  responses: {
    200: { description: 'A page of sources.', content: { 'application/json': { schema: SourcePageSchema } } },
    ...LIST_PROBLEMS,
  },
})

/** Lists the sources of a session's tool results, by the numbers that completions cite. */
export function sourceRoutes(app: App, dependencies: RouteDependencies): void {
  const { reader, shared } = dependencies
  app.openapi(listSources, async (c) => {
    const session = await findSession(dependencies, c.get('caller'), c.req.valid('param').session)
    const { after = 0, limit, cited } = c.req.valid('query')
    const wanted = cited === undefined ? undefined : cited === 'true'
    // The module is imported with the first request, because few clients use it.
    const { sourcePage } = await import('./page.ts')
    const { data, next } = await sourcePage(reader, session, { after, limit, cited: wanted })
    return jsonResponse(shared.of(session.tenant), { object: 'list' as const, data, next, has_more: next !== null })
  })
}
