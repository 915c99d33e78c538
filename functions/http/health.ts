import { createRoute, z } from '@hono/zod-openapi'
import type { App, AppDependencies } from './dependencies.ts'

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

/** Health, for monitoring; needs no key. */
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
