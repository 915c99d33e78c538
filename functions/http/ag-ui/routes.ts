import { createRoute, z } from '@hono/zod-openapi'
import type { App, RouteDependencies } from '../dependencies.ts'
import { problems, WRITE_PROBLEMS } from '../v1/problem-responses.ts'
import { agentName } from '../v1/fields.ts'
import { ForeignEventSchema } from '../run-steps/stream-schema.ts'
import { runAgentInput } from './schemas.ts'

const runAgent = createRoute({
  method: 'post',
  path: '/v1/ag-ui/{agent}',
  operationId: 'runAgent',
  summary: 'AG-UI: run an agent, and follow it',
  tags: ['AG-UI'],
  request: {
    params: z.object({ agent: agentName.openapi({ param: { name: 'agent', in: 'path' } }) }),
    body: { required: true, content: { 'application/json': { schema: runAgentInput } } },
  },
  responses: {
    200: { description: 'The events of AG-UI.', content: { 'text/event-stream': { schema: ForeignEventSchema } } },
    ...WRITE_PROBLEMS,
    ...problems(422),
  },
})

/** The routes for AG-UI's `HttpAgent`. Their handler is imported with the first run, so that the API starts quickly. */
export function agUiRoutes(app: App, dependencies: RouteDependencies): void {
  app.openapi(runAgent, async (c) => {
    const { serveAgUi } = await import('./serve.ts')
    return serveAgUi(dependencies, c, c.req.valid('param').agent, c.req.valid('json'))
  })
}
