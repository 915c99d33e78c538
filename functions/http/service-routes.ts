import { createRoute, z } from '@hono/zod-openapi'
import type { App, AppDependencies, RouteDependencies } from './dependencies.ts'
import { problemResponse } from './middleware/error-response.ts'
import { refuseWhenStopping } from './middleware/stopping.ts'
import { createUnsignedBodies } from './middleware/unsigned-bodies.ts'

/**
 * Serves the inbound endpoints. They need no API key and skip the checks of origin and host, because each authenticates
 * its own requests.
 */
export function serviceRoutes(app: App, dependencies: AppDependencies): void {
  const bodies = createUnsignedBodies()
  for (const { path, open } of dependencies.endpoints ?? []) {
    app.use(path, refuseWhenStopping(dependencies))
    app.post(path, async (c) => {
      const { raw } = c.req
      const origin = { endpoint: c.req.path, sender: c.env?.incoming?.socket.remoteAddress }
      const body = raw.body && bodies.read(raw.body, origin)
      const opened = await open(new Request(raw, { body, duplex: 'half' }))
      return opened instanceof Response ? opened : problemResponse(c, opened)
    })
  }
}

/**
 * Serves the Model Context Protocol at `POST /mcp`. After authentication, all messages and errors have the form of this
 * protocol. The server keeps no session, so GET and DELETE are rejected with 405.
 */
export function mcpRoutes(app: App, { mcp, calls }: RouteDependencies): void {
  app.post('/mcp', (c) => mcp(c.req.raw, { caller: c.get('caller'), calls }))
}

const HealthSchema = z
  .object({ status: z.enum(['ok', 'failing']), version: z.string(), storage: z.enum(['ok', 'failing']) })
  .openapi('Health', { example: { status: 'ok', version: '0.1.0', storage: 'ok' } })
const content = { 'application/json': { schema: HealthSchema } }

const readHealth = createRoute({
  method: 'get',
  path: '/healthz',
  operationId: 'readHealth',
  summary: 'Check that the service responds',
  tags: ['Service'],
  security: [],
  responses: {
    200: { description: 'It responds.', content },
    503: { description: 'Its storage does not respond.', content },
  },
})

/** Serves the health check for monitoring; needs no key. */
export function healthRoutes(app: App, { keys, settings, log }: AppDependencies): void {
  app.openapi(readHealth, async (c) => {
    const { version } = settings
    try {
      await keys.any()
      return c.json({ status: 'ok' as const, version, storage: 'ok' as const }, 200)
    } catch (error) {
      log.error('the storage does not respond', error, { request_id: c.get('requestId') })
      return c.json({ status: 'failing' as const, version, storage: 'failing' as const }, 503)
    }
  })
}
