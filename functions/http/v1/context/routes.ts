import { createRoute } from '@hono/zod-openapi'
import type { z } from '@hono/zod-openapi'
import { countedFor } from '../../../access/rates.ts'
import { enterSession, findSession } from '../../../access/sessions.ts'
import { definedFields } from '../../../domain/defined-fields.ts'
import type { App, RouteDependencies } from '../../dependencies.ts'
import { bytesResponse } from '../../streaming/json-response.ts'
import { contextResource, summaryResource } from './resource.ts'
import { problems, READ_PROBLEMS, WRITE_PROBLEMS } from '../problem-responses.ts'
import { idempotencyOf } from '../runs/request.ts'
import { runHeaders } from '../messages/input-schema.ts'
import { ContextSchema, contextQuery, SummarySchema } from './schema.ts'
import { sessionParams } from '../fields.ts'
import { jsonText } from '../../../log/json/well-formed.ts'

const tags = ['Context']

const readContext = createRoute({
  method: 'get',
  path: '/v1/sessions/{session}/context',
  operationId: 'readContext',
  summary: 'See what the next request to the model would hold',
  tags,
  request: { params: sessionParams, query: contextQuery },
  responses: {
    200: { description: 'The request.', content: { 'application/json': { schema: ContextSchema } } },
    ...READ_PROBLEMS,
    ...problems(409),
  },
})

const consolidate = createRoute({
  method: 'post',
  path: '/v1/sessions/{session}/consolidate',
  operationId: 'consolidateSession',
  summary: 'Summarise the older conversation now',
  tags,
  request: { params: sessionParams, headers: runHeaders },
  responses: {
    200: { description: 'The new summary.', content: { 'application/json': { schema: SummarySchema } } },
    ...WRITE_PROBLEMS,
    ...problems(502),
  },
})

/** Shows the requests that models get for a session. */
export function contextRoutes(app: App, dependencies: RouteDependencies): void {
  const { service, calls, builds, shared } = dependencies

  app.openapi(readContext, async (c) => {
    const session = await findSession(dependencies, c.get('caller'), c.req.valid('param').session)
    const { run } = c.req.valid('query')
    const name = jsonText(['context', session, run])
    // The document is queued, because it contains the messages of the conversation and may be long.
    const document = await builds.build(session.tenant, name, async () =>
      Buffer.from(jsonText(contextResource(session.session, await service.context(session, run)))),
    )
    return bytesResponse<z.input<typeof ContextSchema>>(shared.of(session.tenant), document)
  })

  app.openapi(consolidate, async (c) => {
    const call = await calls.open(c.get('caller'))
    try {
      const signal = AbortSignal.any([c.get('request').signal, dependencies.stopping(), call.signal])
      const { keyId, budget } = countedFor(c.get('caller'), dependencies.settings.caps)
      const options = { signal, ...(await idempotencyOf(c)), ...definedFields({ keyId, budget }) }
      const session = await enterSession(dependencies, c.get('caller'), c.req.valid('param').session)
      return c.json(summaryResource(await service.consolidate(session, options)), 200)
    } finally {
      await call.close()
    }
  })
}
